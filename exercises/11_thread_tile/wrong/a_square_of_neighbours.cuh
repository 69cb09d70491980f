// refused: too expensive: 2048 store sectors
// A thread has 4 x 4 neighbours, and stores them one at a time: 16 lanes store every fourth float.
#include "exercise.h"

constexpr int BM = 64, BN = 64, BK = 16;

// The element of a matrix, or 0 where the matrix has none.
static __device__ float element_or_zero(const float* x, int rows, int columns, int ld, int row,
                                        int column) {
  return row < rows && column < columns ? x[row * ld + column] : 0.0f;
}

// Blocks of 16 x 16 threads, one for each tile of 64 x 64 elements of C: blockIdx.x along N,
// blockIdx.y along M.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  __shared__ float sA[BM][BK], sB[BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
  const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;

  float acc[4][4] = {};  // of rows ty + 16 * i and columns tx + 16 * j of the tile
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = thread; i < BM * BK; i += 256)
      sA[i / BK][i % BK] = element_or_zero(A, M, K, lda, row0 + i / BK, k0 + i % BK);
    for (int i = thread; i < BK * BN; i += 256)
      sB[i / BN][i % BN] = element_or_zero(B, K, N, ldb, k0 + i / BN, column0 + i % BN);
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < BK; ++k) {
      float a[4], b[4];
      for (int i = 0; i < 4; ++i) a[i] = sA[ty * 4 + i][k];
      for (int j = 0; j < 4; ++j) b[j] = sB[k][tx * 4 + j];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();  // nobody reads them any more
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = row0 + ty * 4 + i, column = column0 + tx * 4 + j;
      if (row < M && column < N) C[row * ldc + column] = acc[i][j];
    }
}
