// refused: wrong result: C .*64 x 64 x 64
// Only the first 16 of K are multiplied.
#include "exercise.h"

using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// Blocks of one warp, one for each 16 x 16 tile of C: blockIdx.x along N, blockIdx.y along M.
static __global__ void gemm_kernel(int K, const half* A, int lda, const half* B, int ldb, float* C,
                                   int ldc) {
  const int m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  FragmentC c;
  wmma::fill_fragment(c, 0.0f);
  for (int k = 0; k < 16; k += 16) {
    FragmentA a;
    FragmentB b;
    wmma::load_matrix_sync(a, &A[m0 * lda + k], lda);
    wmma::load_matrix_sync(b, &B[k * ldb + n0], ldb);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(&C[m0 * ldc + n0], c, ldc, wmma::mem_row_major);
}
