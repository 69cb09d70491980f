// refused: too expensive: .* sectors in 32 x 256
// The lane's columns are neighbours, but they are still taken one at a time.
#include "exercise.h"

// out = alpha * x + y. Blocks of 32 x 8 threads, one for each tile of 8 rows and 128 columns.
static __global__ void add_kernel(int rows, int columns, float alpha, const float* x, int ld_x,
                                  const float* y, int ld_y, float* out, int ld_out) {
  const int row = blockIdx.y * 8 + threadIdx.y, first = (blockIdx.x * 32 + threadIdx.x) * 4;
  if (row >= rows) return;
  x += row * ld_x;
  y += row * ld_y;
  out += row * ld_out;

  for (int i = first; i < min(first + 4, columns); ++i) out[i] = alpha * x[i] + y[i];
}
