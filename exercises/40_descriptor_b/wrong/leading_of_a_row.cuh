// refused: wrong result: C at row 0, column 64
// The next 64 columns are taken to be in the same row.
#include "exercise.h"

struct Shared {
  half A[64][64];     // rows along k
  half B[2][64][64];  // two boxes side by side, rows along n
  uint64_t full;
};

// Where wgmma finds B from row k of the tile on: 16 rows, 128 columns.
static __device__ uint64_t descriptor_b(const half (&B)[2][64][64], int k) {
  return ptx::wgmma_descriptor(&B[0][k][0], sizeof B[0][0], 8 * sizeof B[0][0]);
}

// One warpgroup: acc = A * B, 64 x 128 by 64. It is in the registers when the function returns.
static __device__ void multiply(const Shared& s, float (&acc)[64]) {
  ptx::wgmma_fence();
  for (int k = 0; k < 64; k += 16) {
    const uint64_t a = ptx::wgmma_descriptor(&s.A[0][k], 0, 8 * sizeof s.A[0]);
    ptx::wgmma_m64k16_f32_f16(acc, a, descriptor_b(s.B, k), k > 0);
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
}

// Given. One block of one warpgroup: C = A * B, 64 x 128, K up to 64.
static __global__ void gemm_kernel(int M, int N, const __grid_constant__ CUtensorMap map_A,
                                   const __grid_constant__ CUtensorMap map_B, float* C, int ldc) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.A + sizeof s.B);
    ptx::tma_load(s.A, &map_A, 0, 0, &s.full);
    for (int j = 0; j < 2; ++j) ptx::tma_load(s.B[j], &map_B, j * 64, 0, &s.full);
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full, 0);

  float acc[64] = {};
  multiply(s, acc);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 64; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row < M && column < N) C[row * ldc + column] = acc[i];
  }
}
