// refused: wrong result: C at row 0, column 0 is 0
// The starter.
#include "exercise.h"

using ptx::Major;

// Boxes as TMA brings them: a row of 64 halves is 128 bytes, swizzled. Major::K: box[row of A, or
// column of B][k]. Major::MN: box[k][row of A, or column of B].
struct Shared {
  half A[64][64];
  half B[64][64];
  uint64_t full;
};

// Where wgmma finds 16 of k, from k on, of an operand: of all 64 rows of A, or columns of B.
template <Major MAJOR>
static __device__ uint64_t descriptor(const half (&box)[64][64], int k) {
  return ptx::wgmma_descriptor(&box[0][k], 0, 8 * sizeof box[0]);  // Your code: only right for one.
}

// One warpgroup: acc = A * B, 64 x 64 by 64. It is in the registers when the function returns.
template <Major MAJOR_A, Major MAJOR_B>
static __device__ void multiply(const Shared& s, float (&acc)[32]) {
  // Your code: four wgmmas, and what belongs before and behind them.
}

// Given. One block of one warpgroup: C = A * B, 64 x 64, K up to 64.
template <Major MAJOR_A, Major MAJOR_B>
static __global__ void gemm_kernel(int M, int N, const __grid_constant__ CUtensorMap map_A,
                                   const __grid_constant__ CUtensorMap map_B, float* C, int ldc) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.A + sizeof s.B);
    ptx::tma_load(s.A, &map_A, 0, 0, &s.full);
    ptx::tma_load(s.B, &map_B, 0, 0, &s.full);
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full, 0);

  float acc[32] = {};
  multiply<MAJOR_A, MAJOR_B>(s, acc);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 32; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row < M && column < N) C[row * ldc + column] = acc[i];
  }
}
