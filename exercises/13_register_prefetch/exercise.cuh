#include "exercise.h"

constexpr int TILE = 16;

// The element of a matrix, or 0 where the matrix has none.
static __device__ float element_or_zero(const float* x, int rows, int columns, int ld, int row,
                                        int column) {
  return row < rows && column < columns ? x[row * ld + column] : 0.0f;
}

// Blocks of 16 x 16 threads, one for each tile of C: blockIdx.x along N, blockIdx.y along M.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  __shared__ float sA[TILE][TILE], sB[TILE][TILE];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;

  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += TILE) {
    sA[ty][tx] = element_or_zero(A, M, K, lda, row, k0 + tx);
    sB[ty][tx] = element_or_zero(B, K, N, ldb, k0 + ty, column);
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < TILE; ++k) sum += sA[ty][k] * sB[k][tx];
    __syncthreads();  // nobody reads them any more
  }
  if (row < M && column < N) C[row * ldc + column] = sum;
}
