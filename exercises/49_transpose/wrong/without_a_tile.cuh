// refused: too expensive: .* sectors in 128 x 96
// Straight from in to out: the reads are neighbours, each write has a sector of its own.
#include "exercise.h"

constexpr int TILE = 32;

static __global__ void transpose_kernel(int rows, int columns, const float* in, int ld_in,
                                        float* out, int ld_out) {
  const int column = blockIdx.x * TILE + threadIdx.x;
  for (int y = threadIdx.y; y < TILE; y += 8) {
    const int row = blockIdx.y * TILE + y;
    if (row < rows && column < columns) out[column * ld_out + row] = in[row * ld_in + column];
  }
}
