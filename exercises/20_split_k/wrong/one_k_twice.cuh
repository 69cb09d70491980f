// refused: wrong result: C|past the end
// The end of a part is taken for its last k.
#include "exercise.h"

// Blocks of 32 x 8 threads, one for each tile of 8 rows and 32 columns of C, and one behind the
// other along z for each part of K. Part p of the sum of an element goes to row p * M + row of
// `workspace`, which has gridDim.z * M rows of N floats.
static __global__ void parts_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                    int ldb, float* workspace) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || column >= N) return;
  const int parts = gridDim.z, part = blockIdx.z;
  const int length = ceil_div(K, parts), begin = part * length, end = min(K, begin + length);

  float sum = 0;
  for (int k = begin; k <= min(end, K - 1); ++k) sum += A[row * lda + k] * B[k * ldb + column];
  workspace[(part * M + row) * N + column] = sum;
}

// The same blocks, without z: C is the sum of the parts.
static __global__ void add_kernel(int M, int N, int parts, const float* workspace, float* C,
                                  int ldc) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || column >= N) return;

  float sum = 0;
  for (int part = 0; part < parts; ++part) sum += workspace[(part * M + row) * N + column];
  C[row * ldc + column] = sum;
}
