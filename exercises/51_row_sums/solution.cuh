#include "exercise.h"

static __device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(~0u, value, distance);
  return value;  // lane 0 has the sum
}

// One block of 512 threads for each row.
static __global__ void row_sums_kernel(int columns, const float* in, int ld, float* out) {
  __shared__ float sums[16];  // of the warps
  const int row = blockIdx.x, thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* const begin = in + row * ld;
  const float4* const quads = reinterpret_cast<const float4*>(begin);

  float sum = 0;
#pragma unroll 4
  for (int i = thread; i < columns / 4; i += 512) {
    const float4 v = quads[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  if (thread < columns % 4) sum += begin[columns / 4 * 4 + thread];

  sum = warp_sum(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < 16 ? sums[lane] : 0.0f);
    if (lane == 0) out[row] = sum;
  }
}
