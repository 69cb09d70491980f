// refused: too expensive: .* sectors in 128 x 128
// Straight from in to out: the reads are neighbours, each write has a sector of its own.
#include "exercise.h"

constexpr int TILE = 64;

// Blocks of 32 x 8 threads, one for each tile of `in`: blockIdx.x along its columns, blockIdx.y
// along its rows. A thread has 16 elements of the tile.
static __global__ void transpose_kernel(int rows, int columns, const float* in, int ld_in,
                                        float* out, int ld_out) {
  for (int y = threadIdx.y; y < TILE; y += 8) {
    for (int x = threadIdx.x; x < TILE; x += 32) {
      const int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
      if (row < rows && column < columns) out[column * ld_out + row] = in[row * ld_in + column];
    }
  }
}
