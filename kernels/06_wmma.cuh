#pragma once
// 06 wmma: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    tensor cores: a warp multiplies 16x16 by 16x16 as one operation on fragments that are
//         spread over its lanes.
// vs 04b  half inputs, copied by eights; a warp has 2x2 fragments of C instead of 8x8 numbers a
//         thread; both tiles keep the layout of global memory, because load_matrix_sync reads
//         either order, and are two operations deep; C takes the way through shared memory, as in
//         04d, and blocks have the order of 04c.
// Limit   waiting: nothing is on its way from global memory while a tile is multiplied, and an
//         operation waits for its fragments. Next: 06b and 06c.
#include <mma.h>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/store_fragments.cuh"
#include "parts/vector_halves.cuh"

namespace ladder::wmma {

namespace nv = nvcuda::wmma;

constexpr int THREADS = 256;
constexpr int MMA = 16;  // M, N and K of one fragment operation
constexpr int BM = 128, BN = 64, BK = 32, WM = 32, WN = 32;
constexpr int GROUP = 8;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

using FragmentA = nv::fragment<nv::matrix_a, MMA, MMA, MMA, half, nv::row_major>;
using FragmentB = nv::fragment<nv::matrix_b, MMA, MMA, MMA, half, nv::row_major>;
using FragmentC = nv::fragment<nv::accumulator, MMA, MMA, MMA, float>;

// First step: fragments straight from global memory, every warp on its own. A fragment that reaches
// past an edge is first copied to shared memory and filled up with zeros. So is one that does not
// start on 32 bytes, as load_matrix_sync wants it: this kernel's matrices need only 16.
template <class Fragment>
__device__ __forceinline__ void load_fragment(Fragment& f, const half* p, int64_t ld, int rows,
                                              int cols, half (*scratch)[MMA]) {
  if (rows >= MMA && cols >= MMA && reinterpret_cast<uintptr_t>(p) % 32 == 0)
    return nv::load_matrix_sync(f, p, static_cast<unsigned>(ld));
  const int r = threadIdx.x % 32 / 2, c = threadIdx.x % 2 * 8;
  copy8(&scratch[r][c], p + r * ld + c, r < rows ? cols - c : 0);
  __syncwarp();
  nv::load_matrix_sync(f, scratch[0], MMA);
  __syncwarp();  // the scratch is free again
}

static __global__ void __launch_bounds__(THREADS)
    gemm_global_kernel(int M, int N, int K, const half* A, int64_t lda, const half* B, int64_t ldb,
                       half* C, int64_t ldc) {
  __shared__ __align__(32) half scratch[THREADS / 32][MMA][MMA];
  __shared__ __align__(32) float staged[THREADS / 32][MMA][WN + 4];
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  const int warp = threadIdx.x / 32;
  const int m0 = tile.m0 + warp % (BM / WM) * WM, n0 = tile.n0 + warp / (BM / WM) * WN;

  FragmentC acc[WM / MMA][WN / MMA];
  for (auto& row : acc)
    for (auto& f : row) nv::fill_fragment(f, 0.0f);
  for (int k = 0; k < K; k += MMA) {
    FragmentA rA[WM / MMA];
    FragmentB rB[WN / MMA];
    for (int i = 0; i < WM; i += MMA)
      load_fragment(rA[i / MMA], &A[(m0 + i) * lda + k], lda, M - m0 - i, K - k, scratch[warp]);
    for (int j = 0; j < WN; j += MMA)
      load_fragment(rB[j / MMA], &B[k * ldb + n0 + j], ldb, K - k, N - n0 - j, scratch[warp]);
    for (int i = 0; i < WM / MMA; ++i)
      for (int j = 0; j < WN / MMA; ++j) nv::mma_sync(acc[i][j], rA[i], rB[j], acc[i][j]);
  }

  for (int i = 0; i < WM / MMA; ++i)
    store_rows(staged[warp], acc[i], C, ldc, m0 + i * MMA, n0, M, N);
}

// The stage: fragments from tiles in shared memory, which the whole block has copied. Padding by 8
// halves, not 1: rows have to stay 16-byte aligned. A pitch that is an odd multiple of 16 bytes (80
// and 144) puts the eight rows that are read together into eight different groups of four banks.
// With PAD = 0 they share two groups or one.
template <int PAD>
__global__ void __launch_bounds__(THREADS)
    gemm_kernel(int M, int N, int K, const half* A, int64_t lda, const half* B, int64_t ldb,
                half* C, int64_t ldc) {
  __shared__ __align__(32) half sA[BM][BK + PAD], sB[BK][BN + PAD];
  __shared__ __align__(32) float staged[THREADS / 32][MMA][WN + 4];
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  const int warp = threadIdx.x / 32;
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;

  // Eight halves a copy.
  constexpr int A_STEP = THREADS / (BK / 8), B_STEP = THREADS / (BN / 8);
  const int a_m = threadIdx.x / (BK / 8), a_k = threadIdx.x % (BK / 8) * 8;
  const int b_k = threadIdx.x / (BN / 8), b_n = threadIdx.x % (BN / 8) * 8;

  FragmentC acc[WM / MMA][WN / MMA];
  for (auto& row : acc)
    for (auto& f : row) nv::fill_fragment(f, 0.0f);
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int m = a_m; m < BM; m += A_STEP)
      copy8(&sA[m][a_k], &A[(tile.m0 + m) * lda + k0 + a_k], tile.m0 + m < M ? K - k0 - a_k : 0);
    for (int k = b_k; k < BK; k += B_STEP)
      copy8(&sB[k][b_n], &B[(k0 + k) * ldb + tile.n0 + b_n], k0 + k < K ? N - tile.n0 - b_n : 0);
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; k += MMA) {
      FragmentA rA[WM / MMA];
      FragmentB rB[WN / MMA];
      for (int i = 0; i < WM / MMA; ++i)
        nv::load_matrix_sync(rA[i], &sA[warp_m + i * MMA][k], BK + PAD);
      for (int j = 0; j < WN / MMA; ++j)
        nv::load_matrix_sync(rB[j], &sB[k][warp_n + j * MMA], BN + PAD);
      for (int i = 0; i < WM / MMA; ++i)
        for (int j = 0; j < WN / MMA; ++j) nv::mma_sync(acc[i][j], rA[i], rB[j], acc[i][j]);
    }
    __syncthreads();
  }

  for (int i = 0; i < WM / MMA; ++i)
    store_rows(staged[warp], acc[i], C, ldc, tile.m0 + warp_m + i * MMA, tile.n0 + warp_n, M, N);
}

template <auto KERNEL>
void launch_tiles(const Gemm<half, half>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(KERNEL, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS), 0, p.stream, p.M, p.N,
         p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}
inline void gemm_global(const Gemm<half, half>& p) {
  launch_tiles<gemm_global_kernel>(p);
}
inline void gemm_unpadded(const Gemm<half, half>& p) {
  launch_tiles<gemm_kernel<0>>(p);
}
inline void gemm(const Gemm<half, half>& p) {
  launch_tiles<gemm_kernel<8>>(p);
}

}  // namespace ladder::wmma
