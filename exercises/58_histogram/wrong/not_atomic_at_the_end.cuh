// refused: wrong result: counts|too expensive: .*load requests of counts in 8192
// Another block may add between reading and writing, and its part is lost.
#include "exercise.h"

constexpr int BINS = 256;

// Adds to counts[b] how many of the n numbers of `in` are b. Blocks of 256 threads, as many as the
// grader likes.
static __global__ void histogram_kernel(int n, const unsigned* in, unsigned* counts) {
  __shared__ unsigned mine[BINS];  // of this block
  const int thread = threadIdx.x;
  const int first = blockIdx.x * 256 + thread, threads = gridDim.x * 256;
  mine[thread] = 0;
  __syncthreads();  // all are zero

#pragma unroll 4
  for (int i = first; i < n / 4; i += threads) {
    const uint4 v = reinterpret_cast<const uint4*>(in)[i];
    atomicAdd(&mine[v.x], 1);
    atomicAdd(&mine[v.y], 1);
    atomicAdd(&mine[v.z], 1);
    atomicAdd(&mine[v.w], 1);
  }
  if (first < n % 4) atomicAdd(&mine[in[n / 4 * 4 + first]], 1);
  __syncthreads();  // all has been counted

  counts[thread] += mine[thread];
}
