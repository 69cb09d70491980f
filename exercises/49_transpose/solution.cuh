#include "exercise.h"

constexpr int TILE = 64;

// Blocks of 32 x 8 threads, one for each tile of `in`: blockIdx.x along its columns, blockIdx.y
// along its rows. A thread has 16 elements of the tile.
static __global__ void transpose_kernel(int rows, int columns, const float* in, int ld_in,
                                        float* out, int ld_out) {
  __shared__ float tile[TILE][TILE + 1];  // a column lies in 32 banks
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
  // With an odd ld every other row begins between two multiples of 8 bytes.
  const bool whole = row0 + TILE <= rows && column0 + TILE <= columns;
  const bool in_pairs = whole && ld_in % 2 == 0 && ld_out % 2 == 0;

  if (in_pairs) {
    float2 pair[8];  // all eight are on their way before the first is stored
#pragma unroll
    for (int i = 0; i < 8; ++i)
      pair[i] =
          *reinterpret_cast<const float2*>(&in[(row0 + ty + 8 * i) * ld_in + column0 + 2 * tx]);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      tile[ty + 8 * i][2 * tx] = pair[i].x;
      tile[ty + 8 * i][2 * tx + 1] = pair[i].y;
    }
  } else {
    for (int y = ty; y < TILE; y += 8)
      for (int x = tx; x < TILE; x += 32)
        if (row0 + y < rows && column0 + x < columns)
          tile[y][x] = in[(row0 + y) * ld_in + column0 + x];
  }
  __syncthreads();
  if (in_pairs) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int y = ty + 8 * i;  // of out
      *reinterpret_cast<float2*>(&out[(column0 + y) * ld_out + row0 + 2 * tx]) =
          make_float2(tile[2 * tx][y], tile[2 * tx + 1][y]);
    }
  } else {
    for (int y = ty; y < TILE; y += 8)
      for (int x = tx; x < TILE; x += 32)
        if (column0 + y < columns && row0 + x < rows)
          out[(column0 + y) * ld_out + row0 + x] = tile[x][y];
  }
}
