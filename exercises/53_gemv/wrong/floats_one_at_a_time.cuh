// refused: too expensive: .*load requests in 4 x 2048
// A request brings 32 floats where it could bring 128.
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
#pragma unroll 8
  for (int i = thread; i < columns / 4 * 4; i += 256) sum += a[i] * x[i];
  const int last = columns / 4 * 4 + thread;
  if (last < columns) sum += a[last] * x[last];

  sum = warp_sum(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < 8 ? sums[lane] : 0.0f);
    if (lane == 0) y[row] = sum;
  }
}
