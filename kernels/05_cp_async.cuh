#pragma once
// 05 cp_async: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    copy the tiles asynchronously, several of them ahead, while the FMAs run on the current
//         one. cp.async writes straight to shared memory: no registers hold what is in flight.
// vs 04d  a ring of PIPE buffers instead of one, and one barrier a tile instead of two: behind it
//         everyone has this tile, and nobody needs the buffer that is filled next. cp.async
//         transposes nothing wider than 4 bytes, so a thread copies single elements of A. C goes
//         through shared memory as there, but out of it 16 bytes at a time, which is a part now.
//         B's operands are read before A's again, as in 04c.
// Limit   the barrier: all warps come to it at once and load their first operands at once, while
//         nobody multiplies. The ring alone is 5% slower than 04d, with two buffers 3% (4096^3,
//         H200). Next: 05b.
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/store_through_shared.cuh"
#include "parts/vector_access.cuh"
#include "ptx/cp_async.cuh"

namespace ladder::cp_async {

constexpr int THREADS = 256;
constexpr int BM = 128, BN = 256, WM = 64, WN = 64, TM = 16, TN = 8;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);
constexpr int GROUP = 8;

// A is stored transposed; rows padded by 4 keep its quads aligned and the copies free of conflicts.
constexpr int LDA = BM + 4;

template <int BK, int PIPE>
struct Shared {
  static constexpr int TILE_BYTES = BK * (LDA + BN) * sizeof(float);
  float buffers[PIPE * TILE_BYTES / sizeof(float)];
};

template <int BK, int PIPE>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  constexpr int AHEAD = PIPE - 1, TILE_BYTES = Shared<BK, PIPE>::TILE_BYTES;
  Shared<BK, PIPE>& s = dynamic_shared<Shared<BK, PIPE>>();
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;
  const int lane_m = lane / 2 % 4 * 4, lane_n = (lane / 8 * 2 + lane % 2) * 4;

  // A thread copies single elements of A (they are transposed on the way) and quads of B. Rows past
  // M and quads past N repeat valid ones: what comes of them is not stored.
  constexpr int A_STEP = THREADS / 8, A_ROWS = BM / A_STEP, B_STEP = THREADS / (BN / 4);
  static_assert(BK % 8 == 0 && BK % B_STEP == 0);
  const int a_m = threadIdx.x / 8, a_k = threadIdx.x % 8;
  const int b_k = threadIdx.x / (BN / 4), b_n = threadIdx.x % (BN / 4) * 4;
  const int b_valid = max(0, min(4, N - tile.n0 - b_n));
  float* const a_to = &s.buffers[a_k * LDA + a_m];
  float* const b_to = &s.buffers[BK * LDA + b_k * BN + b_n];
  const float* a_from[A_ROWS];
  for (int i = 0; i < A_ROWS; ++i)
    a_from[i] = &A[min(tile.m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const float* b_from = &B[b_k * ldb + (b_valid > 0 ? tile.n0 + b_n : 0)];

  // The last tile along K, which K may cut, is multiplied first: the others are copied unchecked.
  const int tiles = ceil_div(K, BK), last_k0 = max(0, (tiles - 1) * BK);
  for (int k = 0; k < BK; k += 8)
    for (int i = 0; i < A_ROWS; ++i)
      ptx::cp_async_ca_4(a_to + k * LDA + i * A_STEP, a_from[i] + last_k0 + k,
                         last_k0 + k + a_k < K ? 4 : 0);
  for (int k = 0; k < BK; k += B_STEP)
    ptx::cp_async_cg_16(b_to + k * BN, b_from + (last_k0 + k) * ldb,
                        last_k0 + k + b_k < K ? b_valid * 4 : 0);
  ptx::cp_async_commit_group();

  // From here on copies go round the buffers. Past the last tile, zeros are filled in.
  int copy_k0 = 0;
  unsigned copy_buffer = TILE_BYTES;
  const auto copy_next = [&](bool exists) {
    for (int k = 0; k < BK; k += 8)
      for (int i = 0; i < A_ROWS; ++i)
        ptx::cp_async_ca_4(plus_bytes(a_to, copy_buffer) + k * LDA + i * A_STEP,
                           a_from[i] + copy_k0 + k, exists ? 4 : 0);
    for (int k = 0; k < BK; k += B_STEP)
      ptx::cp_async_cg_16_ignore_src(plus_bytes(b_to, copy_buffer) + k * BN, b_from + k * ldb,
                                     !exists);
    ptx::cp_async_commit_group();
    copy_k0 += BK;
    b_from += BK * ldb;
    copy_buffer = (copy_buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
  };
  for (int t = 1; t < AHEAD; ++t) copy_next(t < tiles);

  float* const a_fragment = &s.buffers[warp_m + lane_m];
  float* const b_fragment = &s.buffers[BK * LDA + warp_n + lane_n];
  float acc[TM][TN] = {};
  unsigned buffer = 0;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    // This tile has landed for everyone, and everyone is done with the tile before it, whose buffer
    // is filled next.
    ptx::cp_async_wait_group<AHEAD - 1>();
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      for (int j = 0; j < TN; j += 4)
        as_float4(rB[j]) = as_float4(plus_bytes(b_fragment, buffer)[k * BN + j * 8]);
      for (int i = 0; i < TM; i += 4)
        as_float4(rA[i]) = as_float4(plus_bytes(a_fragment, buffer)[k * LDA + i * 4]);
      if (k == 0) copy_next(t + AHEAD < tiles);  // behind the loads, for which the FMAs wait

      for (int i = 0; i < TM; ++i)
        for (int step = 0; step < TN; ++step) {
          const int j = i % 2 == 1 ? TN - 1 - step : step;
          acc[i][j] += rA[i] * rB[j];
        }
    }
    buffer = (buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
  }

  ptx::cp_async_wait_group<0>();  // zeros may still be on their way
  __syncthreads();
  store_through_shared(acc, &s.buffers[warp * STAGED_FLOATS], lane_m, lane_n,
                       [&](int warp_row, int warp_col, float4 quad) {
                         const int row = tile.m0 + warp_m + warp_row;
                         const int col = tile.n0 + warp_n + warp_col;
                         if (row < M) store4(&C[row * ldc + col], quad, N - col);
                       });
}

template <int BK, int PIPE>
void launch_tiles(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel<BK, PIPE>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS),
         sizeof(Shared<BK, PIPE>), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}
inline void gemm_two_buffers(const Gemm<float, float>& p) {
  launch_tiles<8, 2>(p);
}
inline void gemm_eight_buffers(const Gemm<float, float>& p) {
  launch_tiles<8, 8>(p);
}
inline void gemm_bk_16(const Gemm<float, float>& p) {
  launch_tiles<16, 4>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<8, 4>(p);
}

}  // namespace ladder::cp_async
