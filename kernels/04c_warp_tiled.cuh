#pragma once
// 04c warp_tiled: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    larger tiles at every level, and no waiting for global memory: 16x8 elements a thread,
//         64x64 a warp, 128x256 a block. With so many registers a thread, one block fills a
//         multiprocessor and no other hides its waiting: the next tile is on its way to registers
//         while this one is multiplied.
// vs 04b  a warp owns a compact part of the tile instead of a strip, and its lanes lie on it in
//         pairs that read the same address. Global memory is read a tile ahead, in the loop
//         unchecked: the tile that K cuts is multiplied first (`checked` shows what checks cost,
//         `not_ahead` what it costs to load a tile where it is stored).
//         Blocks are numbered in one dimension, in an order that shares A and B in L2 (`row_by_row`
//         is the order they had).
// Limit   the register file: it cannot deliver the operands of most FFMAs in time. Next: 04d.
#include "launch.cuh"
#include "parts/vector_access.cuh"

namespace ladder::warp_tiled {

constexpr int THREADS = 256;
// BK is 8: the unrolled loop over a tile is then 18 KB of code. With 16 it is 35 KB and 1% slower
// (05's `bk_16`; 4096^3, H200).
constexpr int BM = 128, BN = 256, BK = 8, WM = 64, WN = 64, TM = 16, TN = 8;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

template <int GROUP, bool CUT_TILE_FIRST, bool AHEAD>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  // Rows of 132: a warp's transposing stores cover 16 rows of A and two quads of k. The quads are
  // 4 * 132 floats apart, which is 16 banks, so that the 32 lanes hit 32 banks.
  __shared__ __align__(16) float sA[BK][BM + 4], sB[BK][BN];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  // Blocks that run at the same time should share rows of A and columns of B in L2: number them
  // down the columns of a band that is GROUP tiles high, then the next band.
  const int tiles_m = ceil_div(M, BM), tiles_n = ceil_div(N, BN);
  const int first_m = blockIdx.x / (GROUP * tiles_n) * GROUP;
  const int height = min(GROUP, tiles_m - first_m);
  const int rest = blockIdx.x % (GROUP * tiles_n);
  const int row0 = (first_m + rest % height) * BM, col0 = rest / height * BN;

  // 4x8 lanes to a warp tile. Lanes 2i and 2i + 1 read the same quad of A, lanes i and i + 2 the
  // same quad of B: the hardware then serves a 16-byte load in two wavefronts instead of four.
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;
  const int lane_m = lane / 2 % 4 * 4, lane_n = (lane / 8 * 2 + lane % 2) * 4;

  // A thread copies a quad of A and two quads of B, half a tile apart. Rows past M and quads past N
  // repeat valid ones: what comes of them is not stored.
  const int a_m = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
  const int b_k = threadIdx.x / 32, b_n = threadIdx.x % 32 * 4;
  const int left_valid = N - col0 - b_n, right_valid = left_valid - BN / 2;
  const float* a = &A[min(row0 + a_m, M - 1) * lda + a_k];
  const float* b_left = &B[b_k * ldb + (left_valid > 0 ? col0 + b_n : 0)];
  const float* b_right = &B[b_k * ldb + (right_valid > 0 ? col0 + b_n + BN / 2 : 0)];

  // The last tile along K, which K may cut, is multiplied first: the others are loaded unchecked.
  const int tiles = ceil_div(K, BK), first_k0 = CUT_TILE_FIRST ? max(0, (tiles - 1) * BK) : 0;
  float4 next_a, next_left, next_right;
  const auto load_checked = [&](int k0) {
    next_a = load4(a + k0, K - k0 - a_k);
    next_left = load4(b_left + k0 * ldb, k0 + b_k < K ? left_valid : 0);
    next_right = load4(b_right + k0 * ldb, k0 + b_k < K ? right_valid : 0);
  };
  load_checked(first_k0);
  const auto store_next = [&] {
    sA[a_k + 0][a_m] = next_a.x;
    sA[a_k + 1][a_m] = next_a.y;
    sA[a_k + 2][a_m] = next_a.z;
    sA[a_k + 3][a_m] = next_a.w;
    as_float4(sB[b_k][b_n]) = next_left;
    as_float4(sB[b_k][b_n + BN / 2]) = next_right;
  };
  store_next();
  __syncthreads();

  float acc[TM][TN] = {};
  const auto load_next = [&](int t) {
    if (!CUT_TILE_FIRST) return load_checked(t * BK);
    next_a = as_float4(*a);
    next_left = as_float4(*b_left);
    next_right = as_float4(*b_right);
    a += BK;
    b_left += BK * ldb;
    b_right += BK * ldb;
  };
#pragma unroll 1
  for (int t = 1; t <= tiles; ++t) {
    if (AHEAD && t < tiles) load_next(t);

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      for (int j = 0; j < TN; j += 4) as_float4(rB[j]) = as_float4(sB[k][warp_n + lane_n + j * 8]);
      for (int i = 0; i < TM; i += 4) as_float4(rA[i]) = as_float4(sA[k][warp_m + lane_m + i * 4]);
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += rA[i] * rB[j];
    }

    __syncthreads();
    if (!AHEAD && t < tiles) load_next(t);
    store_next();  // after the last tile nobody reads it
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    const int row = row0 + warp_m + lane_m + i / 4 * 16 + i % 4;
    for (int j = 0; j < TN; j += 4) {
      const int col = col0 + warp_n + lane_n + j * 8;
      const float4 quad = make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
      if (row < M) store4(&C[row * ldc + col], quad, N - col);
    }
  }
}

template <int GROUP, bool CUT_TILE_FIRST, bool AHEAD>
void launch_tiles(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel<GROUP, CUT_TILE_FIRST, AHEAD>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)),
         dim3(THREADS), 0, p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}
inline void gemm_row_by_row(const Gemm<float, float>& p) {
  launch_tiles<1, true, true>(p);
}
inline void gemm_checked(const Gemm<float, float>& p) {
  launch_tiles<8, false, true>(p);
}
// Each tile is loaded where it is stored.
inline void gemm_not_ahead(const Gemm<float, float>& p) {
  launch_tiles<8, true, false>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<8, true, true>(p);
}

}  // namespace ladder::warp_tiled
