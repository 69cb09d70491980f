// refused: race
// __syncwarp waits for 32 threads, and the block has 256.
#include "exercise.h"

constexpr int TILE = 16;

// Ct = the transpose of A * B. Blocks of 16 x 16 threads, one for each tile of A * B: blockIdx.x
// along N, blockIdx.y along M.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* Ct, int ldct) {
  __shared__ float sA[TILE][TILE], sB[TILE][TILE + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;

  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += TILE) {
    sA[ty][tx] = row0 + ty < M && k0 + tx < K ? A[(row0 + ty) * lda + k0 + tx] : 0.0f;
    sB[ty][tx] = k0 + ty < K && column0 + tx < N ? B[(k0 + ty) * ldb + column0 + tx] : 0.0f;
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < TILE; ++k) sum += sA[ty][k] * sB[k][tx];
    if (k0 + TILE < K) __syncthreads();  // the next tiles come into the same arrays
  }

  __syncwarp();
  sB[ty][tx] = sum;  // there is no next tile of B: its array is free for the tile of results
  __syncthreads();   // the results are complete
  if (column0 + ty < N && row0 + tx < M) Ct[(column0 + ty) * ldct + row0 + tx] = sB[tx][ty];
}
