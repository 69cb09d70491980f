// refused: too expensive: 768 requests in 32 x 256
// The starter.
#include "exercise.h"

// out = alpha * x + y. Blocks of 32 x 8 threads, one for each tile of 8 rows and 128 columns.
static __global__ void add_kernel(int rows, int columns, float alpha, const float* x, int ld_x,
                                  const float* y, int ld_y, float* out, int ld_out) {
  const int row = blockIdx.y * 8 + threadIdx.y;
  if (row >= rows) return;
  x += row * ld_x;
  y += row * ld_y;
  out += row * ld_out;

  // A thread has four elements, 32 apart: each request of a warp is for 32 neighbours.
  for (int j = 0; j < 4; ++j) {
    const int column = blockIdx.x * 128 + j * 32 + threadIdx.x;
    if (column < columns) out[column] = alpha * x[column] + y[column];
  }
}
