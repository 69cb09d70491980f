// refused: too expensive: .*load sectors of A in 4 x 2048
// Each thread takes a piece of the row for itself, as a core of a CPU would.
#include "exercise.h"

static __device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(~0u, value, distance);
  return value;
}

static __global__ void gemv_kernel(int columns, const float* A, int lda, const float* x, float* y) {
  __shared__ float sums[8];
  const int row = blockIdx.x, thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* const a = A + row * lda;

  const int piece = ceil_div(columns, 256), begin = thread * piece;
  float sum = 0;
  for (int i = begin; i < min(begin + piece, columns); ++i) sum += a[i] * x[i];

  sum = warp_sum(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < 8 ? sums[lane] : 0.0f);
    if (lane == 0) y[row] = sum;
  }
}
