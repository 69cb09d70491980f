// refused: reads shared memory that this block has not written
// Elements are read before other warps have stored them.
#include "exercise.h"

constexpr int TILE = 32;

// Blocks of 32 x 8 threads, one for each tile of `in`: blockIdx.x along its columns, blockIdx.y
// along its rows. A thread has four elements of the tile.
static __global__ void transpose_kernel(int rows, int columns, const float* in, int ld_in,
                                        float* out, int ld_out) {
  __shared__ float tile[TILE][TILE + 1];  // a column lies in 32 banks
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;

  float value[4];  // all four are on their way before the first is stored
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = row0 + ty + 8 * i, column = column0 + tx;
    value[i] = row < rows && column < columns ? in[row * ld_in + column] : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) tile[ty + 8 * i][tx] = value[i];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = column0 + ty + 8 * i, column = row0 + tx;  // of out
    if (row < columns && column < rows) out[row * ld_out + column] = tile[tx][ty + 8 * i];
  }
}
