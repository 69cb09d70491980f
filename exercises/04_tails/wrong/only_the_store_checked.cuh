// refused: reads past the end of
// Threads without an element store nothing, but they read.
#include "exercise.h"

// Blocks of 32 x 8 threads, one for each tile of 8 rows and 32 columns of C.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * lda + k] * B[k * ldb + column];
  if (row < M && column < N) C[row * ldc + column] = sum;
}
