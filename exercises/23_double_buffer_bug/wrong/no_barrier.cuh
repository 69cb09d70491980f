// refused: reads shared memory that this block has not written|race
// Two buffers do not replace the barrier.
#include "exercise.h"

constexpr int TILE = 16;

// Blocks of 16 x 16 threads, one for each tile of C: blockIdx.x along N, blockIdx.y along M. Two
// buffers: while tile t is multiplied in one, tile t + 1 is stored in the other.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  __shared__ float sA[2][TILE][TILE], sB[2][TILE][TILE];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  const int tiles = ceil_div(K, TILE);

  const auto store_tile = [&](int t) {
    const int k0 = t * TILE;
    sA[t % 2][ty][tx] = row < M && k0 + tx < K ? A[row * lda + k0 + tx] : 0.0f;
    sB[t % 2][ty][tx] = k0 + ty < K && column < N ? B[(k0 + ty) * ldb + column] : 0.0f;
  };

  store_tile(0);
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) store_tile(t + 1);
    for (int k = 0; k < TILE; ++k) sum += sA[t % 2][ty][k] * sB[t % 2][k][tx];
  }
  if (row < M && column < N) C[row * ldc + column] = sum;
}
