// refused: wrong result: C
// lane / 4 is the row that a lane gets, not the one whose address it brings.
#include "exercise.h"

constexpr int BK = 64;
constexpr int A_PITCH = BK, B_PITCH = 16 + 8;  // halves

// Where column `column` of row `row` of sA is stored.
static __device__ int swizzled(int row, int column) {
  return column ^ row % 8 * 8;
}

// Blocks of one warp, one for each 16 x 16 tile of C: blockIdx.x along N, blockIdx.y along M.
static __global__ void gemm_kernel(int M, int N, int K, const half* A, int lda, const half* B,
                                   int ldb, float* C, int ldc) {
  __shared__ __align__(128) half sA[16][A_PITCH], sB[BK][B_PITCH];
  const int lane = threadIdx.x, m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  const half zero = __float2half(0.0f);

  float acc[2][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = lane; i < 16 * BK; i += 32) {
      const int m = i / BK, k = i % BK;
      sA[m][swizzled(m, k)] = m0 + m < M && k0 + k < K ? A[(m0 + m) * lda + k0 + k] : zero;
    }
    for (int i = lane; i < BK * 16; i += 32) {
      const int k = i / 16, n = i % 16;
      sB[k][n] = k0 + k < K && n0 + n < N ? B[(k0 + k) * ldb + n0 + n] : zero;
    }
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < BK; k += 16) {
      const int row = lane % 16, chunk = lane / 16 * 8;
      uint32_t a[4], b[4];
      ptx::ldmatrix_x4(a, &sA[row][swizzled(lane / 4, k + chunk)]);
      ptx::ldmatrix_x4_trans(b, &sB[k + row][chunk]);
      for (int j = 0; j < 2; ++j) ptx::mma_m16n8k16_f32_f16(acc[j], a, b[2 * j], b[2 * j + 1]);
    }
    __syncthreads();  // nobody reads them any more
  }

  for (int j = 0; j < 2; ++j)
    for (int e = 0; e < 4; ++e) {
      const int row = m0 + e / 2 * 8 + lane / 4, column = n0 + j * 8 + lane % 4 * 2 + e % 2;
      if (row < M && column < N) C[row * ldc + column] = acc[j][e];
    }
}
