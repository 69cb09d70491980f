#include "exercise.h"

constexpr int TILE = 16;

// Blocks of 16 x 16 threads, one for each tile of C: blockIdx.x along N, blockIdx.y along M.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  __shared__ float sA[TILE][TILE], sB[TILE][TILE];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;

  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += TILE) {
    sA[ty][tx] = row < M && k0 + tx < K ? A[row * lda + k0 + tx] : 0.0f;
    sB[ty][tx] = k0 + ty < K && column < N ? B[(k0 + ty) * ldb + column] : 0.0f;
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < TILE; ++k) sum += sA[ty][k] * sB[k][tx];
    __syncthreads();  // nobody reads them any more
  }
  if (row < M && column < N) C[row * ldc + column] = sum;
}
