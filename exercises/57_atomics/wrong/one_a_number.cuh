// refused: too expensive: .*store requests of total in 8192
// Every number is added to the total by itself.
#include "exercise.h"

static __global__ void total_kernel(int n, const float* in, float* total) {
  const int first = blockIdx.x * 256 + threadIdx.x, threads = gridDim.x * 256;
  for (int i = first; i < n / 4; i += threads) {
    const float4 v = reinterpret_cast<const float4*>(in)[i];
    atomicAdd(total, v.x);
    atomicAdd(total, v.y);
    atomicAdd(total, v.z);
    atomicAdd(total, v.w);
  }
  if (first < n % 4) atomicAdd(total, in[n / 4 * 4 + first]);
}
