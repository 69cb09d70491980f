// refused: writes past the end of C
// M is not looked at.
#include "exercise.h"

struct Shared {
  half A[64][64], B[64][64];
  uint64_t full;
};

// One warp of a warpgroup: its 16 rows of C, relu(acc + bias of the column), rounded to half. Lane
// l has of columns 8j to 8j + 7: acc[4j], acc[4j + 1] in row l / 4, acc[4j + 2], acc[4j + 3] eight
// rows below, at columns 8j + l % 4 * 2 and the next one.
static __device__ void epilogue(const float (&acc)[32], const float* bias, int M, int N, half* C,
                                int ldc) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int j = 0; j < 8; ++j) {
    const int column = j * 8 + lane % 4 * 2;
    const float b0 = column < N ? bias[column] : 0.0f;
    const float b1 = column + 1 < N ? bias[column + 1] : 0.0f;
    for (int h = 0; h < 2; ++h) {
      const int row = warp * 16 + lane / 4 + h * 8;
      const float x0 = fmaxf(acc[j * 4 + h * 2] + b0, 0.0f);
      const float x1 = fmaxf(acc[j * 4 + h * 2 + 1] + b1, 0.0f);
      if (column + 1 < N)
        *reinterpret_cast<half2*>(&C[row * ldc + column]) = __floats2half2_rn(x0, x1);
      else if (row < M && column < N)
        C[row * ldc + column] = __float2half(x0);
    }
  }
}

// Given. One block of one warpgroup, 64 x 64, K up to 64.
static __global__ void linear_kernel(int M, int N, const __grid_constant__ CUtensorMap map_A,
                                     const __grid_constant__ CUtensorMap map_B, const float* bias,
                                     half* C, int ldc) {
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

  float acc[32];
  ptx::wgmma_fence();
  for (int k = 0; k < 64; k += 16)
    ptx::wgmma_m64k16_f32_f16(acc, ptx::wgmma_descriptor(&s.A[0][k], 0, 8 * sizeof s.A[0]),
                              ptx::wgmma_descriptor(&s.B[k][0], 0, 8 * sizeof s.B[0]), k > 0);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  epilogue(acc, bias, M, N, C, ldc);
}
