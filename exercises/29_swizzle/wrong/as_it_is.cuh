// refused: too expensive: 128 load wavefronts
// The starter: four of eight rows are in the same banks.
#include "exercise.h"

// At which place of its row, 0 to 3, chunk `chunk` (0 to 3) of row `row` is stored.
static __device__ int place(int row, int chunk) {
  return chunk;
}

// out = in, M x 32 halves. Blocks of 128 threads, one for each 64 rows: each of the four warps gets
// 16 rows in the order of mma.sync's A.
static __global__ void pass_through_kernel(int M, const half* in, int ld_in, half* out,
                                           int ld_out) {
  __shared__ __align__(128) half tile[64][32];
  const int m0 = blockIdx.x * 64, lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16;

  for (int i = threadIdx.x; i < 64 * 4; i += 128) {
    const int row = i / 4, chunk = i % 4, m = min(m0 + row, M - 1);  // past M: a row that exists
    *reinterpret_cast<uint4*>(&tile[row][place(row, chunk) * 8]) =
        *reinterpret_cast<const uint4*>(&in[m * ld_in + chunk * 8]);
  }
  __syncthreads();

  for (int k = 0; k < 32; k += 16) {
    const int row = warp_row + lane % 16, chunk = k / 8 + lane / 16;
    uint32_t r[4];
    ptx::ldmatrix_x4(r, &tile[row][place(row, chunk) * 8]);
    for (int i = 0; i < 4; ++i) {
      const int m = m0 + warp_row + i % 2 * 8 + lane / 4, n = k + i / 2 * 8 + lane % 4 * 2;
      if (m < M) *reinterpret_cast<uint32_t*>(&out[m * ld_out + n]) = r[i];
    }
  }
}
