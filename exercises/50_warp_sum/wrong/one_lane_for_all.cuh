// refused: too expensive: .*load requests in 16 x 256
// Lane 0 does the work of 32.
#include "exercise.h"

static __global__ void warp_sum_kernel(int rows, int columns, const float* in, int ld, float* out) {
  const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
  if (row >= rows || lane > 0) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += in[row * ld + i];
  out[row] = sum;
}
