#pragma once
// 04d register_banks: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    feed every FFMA from both banks of the register file: its three operands, a[i], b[j] and
//         acc[i][j], come from two banks, the even and the odd registers, and each bank delivers
//         one a clock. Order and place of the FFMAs' operands are all that changes.
// vs 04c  THERE_AND_BACK, the order of FFMAs: along a row of acc, a[i] stays where it was read last
//         (the reuse cache of its operand slot), and walking the next row backwards keeps b[j] for
//         the turn as well.
//         SWAPPED, where accumulators live: b[j] has the parity of j, as the float4 load lays it
//         down. C goes through shared memory, in quads of the order (1, 0, 3, 2), so ptxas puts
//         acc[i][j] into registers of the other parity, and b[j] and acc[i][j] are read in the same
//         clock. Shared memory is what undoes the order: `through_shared` goes there unswapped.
//         The first alone gains 3%, the second 1%, both 14% (4096^3, H200).
//         A's operands are read before B's: the other way round ptxas's choice of registers is 1%
//         slower (4096^3, H200). The order of blocks is a part now.
// Limit   between two tiles every thread stores to shared memory and waits, twice, for all others.
//         Next: 05.
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/vector_access.cuh"

namespace ladder::register_banks {

constexpr int THREADS = 256;
// BK is 8: the unrolled loop over a tile is then 18 KB of code. With 16 it is 35 KB and 1% slower
// (05's `bk_16`; 4096^3, H200).
constexpr int BM = 128, BN = 256, BK = 8, WM = 64, WN = 64, TM = 16, TN = 8;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);
constexpr int GROUP = 8;

template <bool THERE_AND_BACK, bool SWAPPED>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  // Rows of 132: a warp's transposing stores cover 16 rows of A and two quads of k. The quads are
  // 4 * 132 floats apart, which is 16 banks, so that the 32 lanes hit 32 banks.
  __shared__ __align__(16) float sA[BK][BM + 4], sB[BK][BN], sC[THREADS / 32][16][32 + 4];
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  // 4x8 lanes to a warp tile. Lanes 2i and 2i + 1 read the same quad of A, lanes i and i + 2 the
  // same quad of B: the hardware then serves a 16-byte load in two wavefronts instead of four.
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;
  const int lane_m = lane / 2 % 4 * 4, lane_n = (lane / 8 * 2 + lane % 2) * 4;

  // A thread copies a quad of A and two quads of B, half a tile apart. Rows past M and quads past N
  // repeat valid ones: what comes of them is not stored.
  const int a_m = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
  const int b_k = threadIdx.x / 32, b_n = threadIdx.x % 32 * 4;
  const int left_valid = N - tile.n0 - b_n, right_valid = left_valid - BN / 2;
  const float* a = &A[min(tile.m0 + a_m, M - 1) * lda + a_k];
  const float* b_left = &B[b_k * ldb + (left_valid > 0 ? tile.n0 + b_n : 0)];
  const float* b_right = &B[b_k * ldb + (right_valid > 0 ? tile.n0 + b_n + BN / 2 : 0)];

  // The last tile along K, which K may cut, is multiplied first: the others are loaded unchecked.
  const int tiles = ceil_div(K, BK), last_k0 = max(0, (tiles - 1) * BK);
  float4 next_a = load4(a + last_k0, K - last_k0 - a_k);
  float4 next_left = load4(b_left + last_k0 * ldb, last_k0 + b_k < K ? left_valid : 0);
  float4 next_right = load4(b_right + last_k0 * ldb, last_k0 + b_k < K ? right_valid : 0);
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
#pragma unroll 1
  for (int t = 1; t <= tiles; ++t) {
    if (t < tiles) {
      next_a = as_float4(*a);
      next_left = as_float4(*b_left);
      next_right = as_float4(*b_right);
      a += BK;
      b_left += BK * ldb;
      b_right += BK * ldb;
    }

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      for (int i = 0; i < TM; i += 4) as_float4(rA[i]) = as_float4(sA[k][warp_m + lane_m + i * 4]);
      for (int j = 0; j < TN; j += 4) as_float4(rB[j]) = as_float4(sB[k][warp_n + lane_n + j * 8]);
      for (int i = 0; i < TM; ++i)
        for (int step = 0; step < TN; ++step) {
          const int j = THERE_AND_BACK && i % 2 == 1 ? TN - 1 - step : step;
          acc[i][j] += rA[i] * rB[j];
        }
    }

    __syncthreads();
    store_next();  // after the last tile nobody reads it
    __syncthreads();
  }

  // 16 rows of 32 elements at a time: written as the lanes hold them, read along the rows, so that
  // a warp stores 128 consecutive bytes of C at once.
#pragma unroll
  for (int i = 0; i < TM; i += 4)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      for (int r = 0; r < 4; ++r) {
        const float(&row)[TN] = acc[i + r];
        as_float4(sC[warp][lane_m + r][lane_n]) =
            SWAPPED ? make_float4(row[j + 1], row[j], row[j + 3], row[j + 2])
                    : make_float4(row[j], row[j + 1], row[j + 2], row[j + 3]);
      }
      __syncwarp();
      const int row0 = tile.m0 + warp_m + i * 4, col = tile.n0 + warp_n + j * 8 + lane;
      for (int r = 0; r < 16; ++r)
        if (row0 + r < M && col < N)
          C[(row0 + r) * ldc + col] = sC[warp][r][SWAPPED ? lane ^ 1 : lane];
      __syncwarp();
    }
}

template <bool THERE_AND_BACK, bool SWAPPED>
void launch_tiles(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel<THERE_AND_BACK, SWAPPED>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)),
         dim3(THREADS), 0, p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}
inline void gemm_through_shared(const Gemm<float, float>& p) {
  launch_tiles<false, false>(p);
}
inline void gemm_there_and_back(const Gemm<float, float>& p) {
  launch_tiles<true, false>(p);
}
inline void gemm_swapped(const Gemm<float, float>& p) {
  launch_tiles<false, true>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<true, true>(p);
}

}  // namespace ladder::register_banks
