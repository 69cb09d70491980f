#include "exercise.h"

static __device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(~0u, value, distance);
  return value;  // lane 0 has the sum
}

// y = A * x. One block of 256 threads for each row of A.
static __global__ void gemv_kernel(int columns, const float* A, int lda, const float* x, float* y) {
  __shared__ float sums[8];  // of the warps
  const int row = blockIdx.x, thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* const a = A + row * lda;

  float sum = 0;
  // Your code: the thread's part of the row, times x.

  sum = warp_sum(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < 8 ? sums[lane] : 0.0f);
    if (lane == 0) y[row] = sum;
  }
}
