// refused: writes past the end of a row of out
// ld_out is ignored: rows are taken for as long as they are wide.
#include "exercise.h"

static __global__ void scale_kernel(int rows, int columns, float factor, const float* in, int ld_in,
                                    float* out, int ld_out) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= rows || column >= columns) return;
  out[row * columns + column] = factor * in[row * ld_in + column];
}
