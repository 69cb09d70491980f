// refused: too expensive: .* load wavefronts
// sA is padded, which is read one float a warp.
#include "exercise.h"

constexpr int BM = 8, BN = 32, BK = 32;

// The element of a matrix, or 0 where the matrix has none.
static __device__ float element_or_zero(const float* x, int rows, int columns, int ld, int row,
                                        int column) {
  return row < rows && column < columns ? x[row * ld + column] : 0.0f;
}

// C = A * transpose of B, and B is N x K. Blocks of 32 x 8 threads, one for each tile of 8 rows and
// 32 columns of C.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  __shared__ float sA[BM][BK + 1], sB[BN][BK];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * BM + ty, column0 = blockIdx.x * BN, column = column0 + tx;

  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += BK) {
    sA[ty][tx] = element_or_zero(A, M, K, lda, row, k0 + tx);
    for (int n = ty; n < BN; n += BM)
      sB[n][tx] = element_or_zero(B, N, K, ldb, column0 + n, k0 + tx);
    __syncthreads();
    for (int k = 0; k < BK; ++k) sum += sA[ty][k] * sB[tx][k];
    __syncthreads();
  }
  if (row < M && column < N) C[row * ldc + column] = sum;
}
