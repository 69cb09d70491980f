// refused: too expensive: .* sectors in 32 x 64 x 16
// The sum is kept in C: it is loaded and stored for every k.
#include "exercise.h"

// Blocks of 32 x 8 threads, one for each tile of 8 rows and 32 columns of C.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || column >= N) return;
  C[row * ldc + column] = 0;
  for (int k = 0; k < K; ++k) C[row * ldc + column] += A[row * lda + k] * B[k * ldb + column];
}
