// refused: reads past the end of [AB]: .*in TN
// Each letter stays in its place, when the operands change theirs.
#include "exercise.h"

// A or B in memory: by rows, or transposed. A transposed is K rows of M elements, `ld` apart.
struct Operand {
  const float* data;
  int ld;
  bool transposed;
};

// What cublasSgemm is told. To it all is by columns: element (i, j) of the m x n result is at
// j * ld + i, and the result is op(first) * op(second), where op transposes or leaves as it is.
struct Call {
  bool transpose_first, transpose_second;
  int m, n, k;
  Operand first, second;  // `transposed` is not read
};

// The call for C[M,N] = A[M,K] * B[K,N] with C stored by rows, or by columns.
static __device__ Call call_of(int M, int N, int K, Operand A, Operand B, bool c_by_columns) {
  if (c_by_columns) return {!A.transposed, !B.transposed, M, N, K, A, B};
  return {A.transposed, B.transposed, N, M, K, B, A};
}

// Given: cublasSgemm, with alpha = 1 and beta = 0.
static __device__ float at(const Operand& matrix, bool transpose, int row, int column) {
  return transpose ? matrix.data[row * matrix.ld + column] : matrix.data[column * matrix.ld + row];
}
static __global__ void gemm_kernel(int M, int N, int K, Operand A, Operand B, float* C, int ldc,
                                   bool c_by_columns) {
  const Call call = call_of(M, N, K, A, B, c_by_columns);
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= call.m || j >= call.n) return;
  float sum = 0;
  for (int k = 0; k < call.k; ++k)
    sum +=
        at(call.first, call.transpose_first, i, k) * at(call.second, call.transpose_second, k, j);
  C[j * ldc + i] = sum;
}
