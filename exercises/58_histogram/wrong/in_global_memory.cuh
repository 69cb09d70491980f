// refused: too expensive: .*store requests of counts in 8192
// All blocks count in the same place, and every number is an atomic of its own.
#include "exercise.h"

constexpr int BINS = 256;

static __global__ void histogram_kernel(int n, const unsigned* in, unsigned* counts) {
  const int first = blockIdx.x * 256 + threadIdx.x, threads = gridDim.x * 256;
  for (int i = first; i < n / 4; i += threads) {
    const uint4 v = reinterpret_cast<const uint4*>(in)[i];
    atomicAdd(&counts[v.x], 1);
    atomicAdd(&counts[v.y], 1);
    atomicAdd(&counts[v.z], 1);
    atomicAdd(&counts[v.w], 1);
  }
  if (first < n % 4) atomicAdd(&counts[in[n / 4 * 4 + first]], 1);
}
