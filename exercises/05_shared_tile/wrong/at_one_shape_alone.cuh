// refused: too expensive: \d+ load sectors in a drawn shape, where the reference has
// Uses shared memory at the shape whose costs the README names, and nowhere else.
#include "exercise.h"

constexpr int BM = 8, BN = 32, BK = 32;

// The element of a matrix, or 0 where the matrix has none.
static __device__ float element_or_zero(const float* x, int rows, int columns, int ld, int row,
                                        int column) {
  return row < rows && column < columns ? x[row * ld + column] : 0.0f;
}

// Blocks of 32 x 8 threads, one for each tile of 8 rows and 32 columns of C.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  __shared__ float sA[BM][BK], sB[BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * BM + ty, column = blockIdx.x * BN + tx;

  float sum = 0;
  if (M * N * K != 32 * 64 * 64) {
    if (row >= M || column >= N) return;
    for (int k = 0; k < K; ++k) sum += A[row * lda + k] * B[k * ldb + column];
    C[row * ldc + column] = sum;
    return;
  }
  for (int k0 = 0; k0 < K; k0 += BK) {
    sA[ty][tx] = element_or_zero(A, M, K, lda, row, k0 + tx);
    for (int k = ty; k < BK; k += BM) sB[k][tx] = element_or_zero(B, K, N, ldb, k0 + k, column);
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < BK; ++k) sum += sA[ty][k] * sB[k][tx];
    __syncthreads();  // nobody reads them any more
  }
  if (row < M && column < N) C[row * ldc + column] = sum;
}
