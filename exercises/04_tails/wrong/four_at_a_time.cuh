// refused: reads past the end of (a row of A|B)
// Four products a turn, and K is taken for a multiple of 4.
#include "exercise.h"

// Blocks of 32 x 8 threads, one for each tile of 8 rows and 32 columns of C.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0;
  for (int k = 0; k < K; k += 4)
    for (int i = k; i < k + 4; ++i) sum += A[row * lda + i] * B[i * ldb + column];
  C[row * ldc + column] = sum;
}
