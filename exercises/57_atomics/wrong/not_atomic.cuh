// refused: wrong result: total
// Reads, adds and writes: eight warps read the same total early, and one of their sums stays.
#include "exercise.h"

static __device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(~0u, value, distance);
  return value;  // lane 0 has the sum
}

// Adds the n numbers of `in` to *total. Blocks of 256 threads, as many as the grader likes.
static __global__ void total_kernel(int n, const float* in, float* total) {
  const int thread = threadIdx.x, lane = thread % 32;
  const int first = blockIdx.x * 256 + thread, threads = gridDim.x * 256;
  const float before = *total;  // on its way while the block adds

  float sum = 0;
#pragma unroll 8
  for (int i = first; i < n / 4; i += threads) {
    const float4 v = reinterpret_cast<const float4*>(in)[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  if (first < n % 4) sum += in[n / 4 * 4 + first];

  sum = warp_sum(sum);
  __syncthreads();  // all warps have read *total
  if (lane == 0) *total = before + sum;
}
