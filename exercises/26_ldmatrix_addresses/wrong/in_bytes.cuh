// refused: not written
// 16 bytes further are 8 halves; 16 halves further is the padding.
#include "exercise.h"

constexpr int PITCH = 16 + 8;  // halves

// What lane `lane` brings to ldmatrix for the 16 x 16 halves of A that begin at `block`.
static __device__ const half* row_of_a(const half* block, int lane) {
  return block + lane % 16 * PITCH + lane / 16 * 16;
}

// The same for B, of which the columns are rows here.
static __device__ const half* row_of_b(const half* block, int lane) {
  return block + (lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8;
}

// Blocks of one warp, one for each 16 x 16 tile of C: blockIdx.x along N, blockIdx.y along M.
static __global__ void gemm_kernel(int M, int N, int K, const half* A, int lda, const half* B,
                                   int ldb, float* C, int ldc) {
  __shared__ __align__(16) half sA[16][PITCH], sB[16][PITCH];
  const int lane = threadIdx.x, m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  const half zero = __float2half(0.0f);

  float acc[2][4] = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = lane; i < 16 * 16; i += 32) {
      const int row = i / 16, k = i % 16;
      half a = zero, b = zero;
      if (m0 + row < M && k0 + k < K) a = A[(m0 + row) * lda + k0 + k];
      if (n0 + row < N && k0 + k < K) b = B[(k0 + k) * ldb + n0 + row];
      sA[row][k] = a;
      sB[row][k] = b;
    }
    __syncthreads();  // the tiles are complete
    uint32_t a[4], b[4];
    ptx::ldmatrix_x4(a, row_of_a(sA[0], lane));
    ptx::ldmatrix_x4(b, row_of_b(sB[0], lane));
    for (int j = 0; j < 2; ++j) ptx::mma_m16n8k16_f32_f16(acc[j], a, b[2 * j], b[2 * j + 1]);
    __syncthreads();  // nobody reads them any more
  }

  for (int j = 0; j < 2; ++j)
    for (int e = 0; e < 4; ++e) {
      const int row = m0 + e / 2 * 8 + lane / 4, column = n0 + j * 8 + lane % 4 * 2 + e % 2;
      if (row < M && column < N) C[row * ldc + column] = acc[j][e];
    }
}
