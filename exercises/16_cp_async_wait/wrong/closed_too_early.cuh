// refused: reads shared memory that a cp.async has not delivered yet
// The group is closed before the copies are ordered: each tile belongs to the next group.
#include "exercise.h"

constexpr int THREADS = 128, ROWS = 8, BUFFERS = 4, AHEAD = BUFFERS - 1;

// sums[c] is the sum of column c of `in`. A block of 128 threads takes 128 columns, 8 rows at a
// time. Rows begin on 16 bytes.
static __global__ void column_sums_kernel(int rows, int columns, const float* in, int ld,
                                          float* sums) {
  __shared__ __align__(16) float s[BUFFERS][ROWS][THREADS];
  const int column0 = blockIdx.x * THREADS, tiles = ceil_div(rows, ROWS);

  // Orders tile t, two quads a thread. Outside of the matrix, zeros.
  const auto copy_tile = [&](int t) {
    for (int i = threadIdx.x; i < ROWS * THREADS / 4; i += THREADS) {
      const int r = i / (THREADS / 4), c = i % (THREADS / 4) * 4, row = t * ROWS + r;
      const int valid = row < rows ? max(0, min(4, columns - column0 - c)) : 0;
      ptx::cp_async_cg_16(&s[t % BUFFERS][r][c], &in[row * ld + column0 + c], valid * 4);
    }
  };

  for (int t = 0; t < AHEAD; ++t) {
    if (t < tiles) copy_tile(t);
    ptx::cp_async_commit_group();
  }
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    ptx::cp_async_wait_group<AHEAD - 1>();
    __syncthreads();  // tile t has landed for all, and nobody reads tile t - 1 any more
    ptx::cp_async_commit_group();
    if (t + AHEAD < tiles) copy_tile(t + AHEAD);
    for (int r = 0; r < ROWS; ++r) sum += s[t % BUFFERS][r][threadIdx.x];
  }
  if (column0 + threadIdx.x < columns) sums[column0 + threadIdx.x] = sum;
}
