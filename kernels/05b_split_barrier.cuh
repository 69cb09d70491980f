#pragma once
// 05b split_barrier: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    take the barrier apart: a thread arrives in the middle of a tile and waits at its end, by
//         when all others have arrived as well. And read the operands of the next k while this one
//         is multiplied, across the end of a tile, too: where nobody stops, nothing has to be
//         waited for. Either alone gains 1 to 3% over 05 and stays below 04d (`full_barrier`,
//         `single_fragments`), both gain 8% (4096^3, H200).
// vs 05   an mbarrier instead of __syncthreads. Nobody knows that the slowest warp is done with the
//         tile before, so copies are two tiles ahead in the four buffers, not three. Fragments have
//         two sets of registers, LEAD = 1 apart. The loop is a function of a range of K steps, of
//         which this stage takes all and 05c some.
// Limit   the FMA pipe itself: all other instructions of the loop take issue slots from FFMAs, and
//         two warps a scheduler cannot cover every stall. And the last wave of blocks does not fill
//         the GPU. Next: 05c.
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/store_through_shared.cuh"
#include "parts/vector_access.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"

namespace ladder::split_barrier {

constexpr int THREADS = 256;
constexpr int BM = 128, BN = 256, BK = 8, WM = 64, WN = 64, TM = 16, TN = 8;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);
constexpr int GROUP = 8;
constexpr int PIPE = 4, AHEAD = PIPE - 2;
// The k at which a thread arrives at the barrier of the next tile. Any in the middle will do; ptxas
// schedules the loop differently for each, which makes up to 1% (4096^3, H200).
constexpr int ARRIVAL = BK / 2 - 1;

// A is stored transposed; rows padded by 4 keep its quads aligned and the copies free of conflicts.
constexpr int LDA = BM + 4;
constexpr int TILE_BYTES = BK * (LDA + BN) * sizeof(float);

struct Shared {
  float buffers[PIPE * TILE_BYTES / sizeof(float)];
  uint64_t next_tile_landed;
};

// K steps `begin` to `end` of a tile; store(row, column, quad) gets the sums. Step 0 is the tile's
// last along K, which K may cut: it is multiplied first, and the others are copied unchecked. Step
// t > 0 begins at (t - 1) * BK. `phase` counts the phases of the mbarrier; the block's first call
// has 0. After a call, buffers are in use until the next __syncthreads.
template <bool SPLIT_BARRIER, int LEAD, class Store>
__device__ __forceinline__ void multiply(int M, int N, int K, const float* A, int64_t lda,
                                         const float* B, int64_t ldb, Tile tile, int begin, int end,
                                         Shared& s, unsigned& phase, Store store) {
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

  const int first_k0 = max(0, (begin > 0 ? begin : ceil_div(K, BK)) - 1) * BK;
  for (int k = 0; k < BK; k += 8)
    for (int i = 0; i < A_ROWS; ++i)
      ptx::cp_async_ca_4(a_to + k * LDA + i * A_STEP, a_from[i] + first_k0 + k,
                         first_k0 + k + a_k < K ? 4 : 0);
  for (int k = 0; k < BK; k += B_STEP)
    ptx::cp_async_cg_16(b_to + k * BN, b_from + (first_k0 + k) * ldb,
                        first_k0 + k + b_k < K ? b_valid * 4 : 0);
  ptx::cp_async_commit_group();

  // From here on copies go round the buffers. Past the last tile, zeros are filled in.
  int copy_k0 = begin * BK;
  b_from += copy_k0 * ldb;
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
  for (int t = 1; t < AHEAD; ++t) copy_next(begin + t < end);

  float* const a_fragment = &s.buffers[warp_m + lane_m];
  float* const b_fragment = &s.buffers[BK * LDA + warp_n + lane_n];
  float rA[2][TM], rB[2][TN];
  const auto load_fragments = [&](int to, unsigned buffer, int k) {
    for (int j = 0; j < TN; j += 4)
      as_float4(rB[to][j]) = as_float4(plus_bytes(b_fragment, buffer)[k * BN + j * 8]);
    for (int i = 0; i < TM; i += 4)
      as_float4(rA[to][i]) = as_float4(plus_bytes(a_fragment, buffer)[k * LDA + i * 4]);
  };
  if (SPLIT_BARRIER && threadIdx.x == 0 && phase == 0)
    ptx::mbarrier_init(&s.next_tile_landed, THREADS);
  ptx::cp_async_wait_group<AHEAD - 1>();
  __syncthreads();
  if (LEAD == 1) load_fragments(0, 0, 0);

  float acc[TM][TN] = {};
  unsigned buffer = 0;
  const auto next_buffer = [&] {
    if (SPLIT_BARRIER) {
      while (!ptx::mbarrier_test_wait_parity(&s.next_tile_landed, phase % 2)) {
      }
      ++phase;
    } else {
      ptx::cp_async_wait_group<AHEAD - 1>();
      __syncthreads();
    }
    buffer = (buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
  };
#pragma unroll 1
  for (int t = begin; t < end; ++t) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      // This thread's copies of the next tile have landed, and it is done with the tile before this
      // one, whose buffer is filled next once everyone has said so.
      if (SPLIT_BARRIER && k == ARRIVAL) {
        ptx::cp_async_wait_group<AHEAD - 1>();
        ptx::mbarrier_arrive(&s.next_tile_landed);
      }
      if (k + LEAD == BK) next_buffer();
      load_fragments((k + LEAD) % 2, buffer, (k + LEAD) % BK);
      if (k == 0) copy_next(t + AHEAD < end);  // behind the loads, for which the FMAs wait

      for (int i = 0; i < TM; ++i)
        for (int step = 0; step < TN; ++step) {
          const int j = i % 2 == 1 ? TN - 1 - step : step;
          acc[i][j] += rA[k % 2][i] * rB[k % 2][j];
        }
    }
    if (LEAD == 0) next_buffer();
  }

  ptx::cp_async_wait_group<0>();  // zeros may still be on their way
  __syncthreads();
  store_through_shared(acc, &s.buffers[warp * STAGED_FLOATS], lane_m, lane_n,
                       [&](int warp_row, int warp_col, float4 quad) {
                         const int row = tile.m0 + warp_m + warp_row;
                         const int col = tile.n0 + warp_n + warp_col;
                         store(row, col, quad);
                       });
}

// What is done to sums before they are stored: nothing. A kernel that does more with them takes
// another one: it gets one sum, or four of a row of C, and where the first of them is.
struct SumsAlone {
  template <class Sums>
  __device__ __forceinline__ Sums operator()(const Sums& sums, int, int) const {
    return sums;
  }
};

template <bool SPLIT_BARRIER, int LEAD, class Finish>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc, const Finish finish) {
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  unsigned phase = 0;
  multiply<SPLIT_BARRIER, LEAD>(M, N, K, A, lda, B, ldb, tile, 0, ceil_div(K, BK),
                                dynamic_shared<Shared>(), phase,
                                [&](int row, int col, float4 quad) {
                                  if (row < M)
                                    store4(&C[row * ldc + col], finish(quad, row, col), N - col);
                                });
}

template <bool SPLIT_BARRIER, int LEAD>
void launch_tiles(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel<SPLIT_BARRIER, LEAD, SumsAlone>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)),
         dim3(THREADS), sizeof(Shared), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc,
         SumsAlone{});
}
inline void gemm_full_barrier(const Gemm<float, float>& p) {
  launch_tiles<false, 1>(p);
}
inline void gemm_single_fragments(const Gemm<float, float>& p) {
  launch_tiles<true, 0>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<true, 1>(p);
}

}  // namespace ladder::split_barrier
