#include "exercise.h"

// One warp copies a matrix to shared memory, by tiles of 4 rows and 32 columns. What lies outside
// of the matrix is not read: zeros are stored instead.

// 16 bytes a lane: 8 lanes take a row of the tile.
static __global__ void wide_kernel(int rows, int columns, const float* in, int ld, float* sums) {
  __shared__ __align__(128) float tile[4][32];
  const int lane = threadIdx.x, row = lane / 8, column = lane % 8 * 4;
  float sum = 0;
  for (int m0 = 0; m0 < rows; m0 += 4)
    for (int n0 = 0; n0 < columns; n0 += 32) {
      const int valid = m0 + row < rows ? max(0, min(4, columns - n0 - column)) : 0;
      ptx::cp_async_cg_16(&tile[row][column], &in[(m0 + row) * ld + n0 + column], valid * 4);
      ptx::cp_async_commit_group();
      ptx::cp_async_wait_group<0>();
      __syncthreads();
      for (int r = 0; r < 4; ++r) sum += tile[r][lane];
      __syncthreads();
    }
  sums[lane] = sum;
}

// 4 bytes a lane: 32 lanes take a row of the tile, one row after the other.
static __global__ void narrow_kernel(int rows, int columns, const float* in, int ld, float* sums) {
  __shared__ __align__(128) float tile[4][32];
  const int lane = threadIdx.x;
  float sum = 0;
  for (int m0 = 0; m0 < rows; m0 += 4)
    for (int n0 = 0; n0 < columns; n0 += 32) {
      for (int r = 0; r < 4; ++r)
        ptx::cp_async_ca_4(&tile[r][lane], &in[(m0 + r) * ld + n0 + lane],
                           m0 + r < rows && n0 + lane < columns ? 4 : 0);
      ptx::cp_async_commit_group();
      ptx::cp_async_wait_group<0>();
      __syncthreads();
      for (int r = 0; r < 4; ++r) sum += tile[r][lane];
      __syncthreads();
    }
  sums[lane] = sum;
}
