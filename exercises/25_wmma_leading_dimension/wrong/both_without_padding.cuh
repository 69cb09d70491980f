// refused: too expensive: 1536 load wavefronts
// No padding at all: fragments of A take 16 wavefronts, those of B 8.
#include "exercise.h"

constexpr int BK = 32;
constexpr int A_PITCH = BK, B_PITCH = 16;  // odd multiples of 16 bytes

using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// Blocks of one warp, one for each 16 x 16 tile of C: blockIdx.x along N, blockIdx.y along M.
static __global__ void gemm_kernel(int K, const half* A, int lda, const half* B, int ldb, float* C,
                                   int ldc) {
  __shared__ __align__(32) half sA[16][A_PITCH], sB[BK][B_PITCH];
  const int m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  const half zero = __float2half(0.0f);

  FragmentC c;
  wmma::fill_fragment(c, 0.0f);
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < 16 * BK; i += 32) {
      const int m = i / BK, k = i % BK;
      sA[m][k] = k0 + k < K ? A[(m0 + m) * lda + k0 + k] : zero;
    }
    for (int i = threadIdx.x; i < BK * 16; i += 32) {
      const int k = i / 16, n = i % 16;
      sB[k][n] = k0 + k < K ? B[(k0 + k) * ldb + n0 + n] : zero;
    }
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < BK; k += 16) {
      FragmentA a;
      FragmentB b;
      wmma::load_matrix_sync(a, &sA[0][k], A_PITCH);
      wmma::load_matrix_sync(b, &sB[k][0], B_PITCH);
      wmma::mma_sync(c, a, b, c);
    }
    __syncthreads();  // nobody reads them any more
  }
  wmma::store_matrix_sync(&C[m0 * ldc + n0], c, ldc, wmma::mem_row_major);
}
