// refused: outside its array|wrong result: C .* is NaN
// Rows as far apart as the longer side of the thread's tile: wide ones are wrong still.
#include "exercise.h"

constexpr int BK = 16;

// The element of a matrix, or 0 where the matrix has none.
static __device__ float element_or_zero(const float* x, int rows, int columns, int ld, int row,
                                        int column) {
  return row < rows && column < columns ? x[row * ld + column] : 0.0f;
}

// Each thread has TM x TN elements of C: TM rows side by side, TN columns that are 16 apart. Blocks
// of 16 x 16 threads, one for each tile: blockIdx.x along N, blockIdx.y along M.
template <int TM, int TN>
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  constexpr int BM = 16 * TM, BN = 16 * TN;
  __shared__ float sA[BM][BK + 1], sB[BK][BN];
  const int thread = threadIdx.y * 16 + threadIdx.x;
  const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
  const int m = threadIdx.y * (TM > TN ? TM : TN),
            n = threadIdx.x;  // the thread's first row and column of the tile

  float acc[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = thread; i < BM * BK; i += 256)
      sA[i / BK][i % BK] = element_or_zero(A, M, K, lda, row0 + i / BK, k0 + i % BK);
    for (int i = thread; i < BK * BN; i += 256)
      sB[i / BN][i % BN] = element_or_zero(B, K, N, ldb, k0 + i / BN, column0 + i % BN);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
      for (int i = 0; i < TM; ++i) a[i] = sA[m + i][k];
      for (int j = 0; j < TN; ++j) b[j] = sB[k][n + 16 * j];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      const int row = row0 + m + i, column = column0 + n + 16 * j;
      if (row < M && column < N) C[row * ldc + column] = acc[i][j];
    }
}
