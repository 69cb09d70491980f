#pragma once
// 14b without_tiles: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    with up to 16 rows an element of B takes part in one instruction and never again: there
//         is nothing to keep in shared memory. The lanes load B from global memory straight into
//         the registers that mma.sync reads, many loads ahead.
// vs 14   no TMA, no wgmma, no producer: each warp has a part of K for itself, 16 rows of B at a
//         time, of which FLIGHT are on their way. The sums of the warps go to the block that stores
//         them as those of the blocks do in 14.
// Step    nothing of 14's loop is left.
// Limit   to be measured.
#include <algorithm>
#include <string>

#include "launch.cuh"
#include "parts/no_kernel.cuh"
#include "parts/tile_grid.cuh"
#include "parts/vector_halves.cuh"
#include "ptx/cluster.cuh"
#include "ptx/mma.cuh"
#include "ptx/tma.cuh"

namespace ladder::without_tiles {

constexpr int BM = 16;  // rows of a tile, and of an mma.sync
constexpr int BK = 16;  // rows of B that a warp loads at a time, and the k of an mma.sync

// Of BN columns each of eight lanes has BN / 8, in a row: one load. Column number j of each is one
// of the eight columns of an mma.sync.
//
// Which k an mma.sync calls its first is our choice, if it is the same for A and B. By its own
// count lane l has k = 2t, 2t + 1, 2t + 8 and 2t + 9, with t = l % 4; here it has 4t to 4t + 3,
// which lie together in a row of A.
template <int BN>
struct Fragments {
  static constexpr int WORDS = BN / 16;  // of two halves
  uint32_t b[4][WORDS];                  // rows 4t to 4t + 3, of the columns of lane group l / 4
  uint32_t a[2][2];                      // rows l / 4 and l / 4 + 8, of columns 4t to 4t + 3
};

// Words that lie together at a multiple of their size.
template <int WORDS>
__device__ __forceinline__ void load_words(uint32_t (&to)[WORDS], const half* from) {
  if constexpr (WORDS == 4) {
    const uint4 v = *reinterpret_cast<const uint4*>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else {
    const auto v = *reinterpret_cast<const uint64_t*>(from);
    to[0] = static_cast<uint32_t>(v), to[1] = static_cast<uint32_t>(v >> 32);
  }
}
// The same where only the first `valid` halves exist; the others are 0.
template <int WORDS>
__device__ __forceinline__ void load_valid(uint32_t (&to)[WORDS], const half* from, int valid) {
  const auto element = [&](int i) -> uint32_t {
    return i < valid ? reinterpret_cast<const uint16_t*>(from)[i] : 0;
  };
#pragma unroll
  for (int i = 0; i < WORDS; ++i) to[i] = element(2 * i) | element(2 * i + 1) << 16;
}

// Number j of a lane's columns in two rows of B, as mma.sync has two k's of one column.
__device__ __forceinline__ uint32_t pair(const uint32_t* row, const uint32_t* next, int j) {
  return j % 2 == 0 ? (row[j / 2] & 0xFFFF) | next[j / 2] << 16
                    : row[j / 2] >> 16 | (next[j / 2] & 0xFFFF0000);
}

template <int BN>
__device__ __forceinline__ void multiply(float (&acc)[BN / 8][4], const Fragments<BN>& f) {
  const uint32_t a[4] = {f.a[0][0], f.a[1][0], f.a[0][1], f.a[1][1]};
#pragma unroll
  for (int j = 0; j < BN / 8; ++j)
    ptx::mma_m16n8k16_f32_f16(acc[j], a, pair(f.b[0], f.b[1], j), pair(f.b[2], f.b[3], j));
}

// A tile of a cluster of SPLIT blocks, of WARPS warps each, which have a part of K each.
template <int WARPS, int BN, int SPLIT>
struct Shared {
  static constexpr int PARTS = SPLIT * WARPS;
  static constexpr int UNITS = BN / 8;         // quads of a lane: 8 rows, two of its columns
  static constexpr int OWNED = UNITS / SPLIT;  // a block of two owns one of the two times 8 rows
  static_assert(SPLIT <= 2);
  float4 sums[OWNED][PARTS][32];  // of the units that this block owns: what each warp has of it
  half staged[BM / SPLIT][BN];    // and in the end the rows of C that these are
  uint64_t received;              // completes when all sums are there
};

// WHOLE: all rows of A and B begin and end with a whole chunk of 16 bytes, and so does K with one
// of BK. Else each element is asked for; slow, and the same but for that.
template <int WARPS, int BN, int SPLIT, int FLIGHT, bool WHOLE>
__global__ void __launch_bounds__(WARPS * 32, 1)
    gemm_kernel(int M, int N, int K, const half* A, int64_t lda, const half* B, int64_t ldb,
                half* C, int64_t ldc) {
  using S = Shared<WARPS, BN, SPLIT>;
  constexpr int COLUMNS = BN / 8;  // of a lane
  S& s = dynamic_shared<S>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int rank = blockIdx.x % SPLIT;
  if (tile_column() >= ceil_div(N, BN)) return;
  const int m0 = static_cast<int>(blockIdx.x / SPLIT) * BM, n0 = tile_column() * BN;

  if (SPLIT > 1) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_init(&s.received, 1);
      ptx::fence_mbarrier_init();
      ptx::mbarrier_arrive_expect_tx(&s.received, sizeof s.sums);
    }
    __syncwarp();
    ptx::cluster_arrive_relaxed();  // and does not wait yet
  }

  // Columns past N and rows past M repeat valid ones: what comes of them is not stored.
  const int lane_k = lane % 4 * 4, lane_n = lane / 4 * COLUMNS;
  const int valid_n = N - n0 - lane_n;
  const half* const from_B = &B[n0 + (valid_n > 0 ? lane_n : 0)];
  const half* from_A[2];
  for (int h = 0; h < 2; ++h) from_A[h] = &A[min(m0 + lane / 4 + h * 8, M - 1) * lda];
  const auto load = [&](Fragments<BN>& to, int k) {
    k += lane_k;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const half* const from = from_B + (k + i) * ldb;
      if (WHOLE)
        load_words(to.b[i], from);
      else
        load_valid(to.b[i], from, k + i < K ? valid_n : 0);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (WHOLE)
        load_words(to.a[h], from_A[h] + k);
      else
        load_valid(to.a[h], from_A[h] + k, K - k);
  };

  // Every so many rows of B: all warps of all blocks go through it from top to bottom together.
  const int first = (rank * WARPS + warp) * BK, stride = S::PARTS * BK;
  Fragments<BN> ahead[FLIGHT];
#pragma unroll
  for (int i = 0; i < FLIGHT; ++i)
    if (first + i * stride < K) load(ahead[i], first + i * stride);
  float acc[BN / 8][4] = {};
#pragma unroll 1
  for (int k = first; k < K; k += FLIGHT * stride)
#pragma unroll
    for (int i = 0; i < FLIGHT; ++i) {
      if (k + i * stride >= K) break;
      multiply<BN>(acc, ahead[i]);
      const int next = k + (i + FLIGHT) * stride;
      if (next < K) load(ahead[i], next);
    }

  // To the owners. In a unit are two columns of a lane's first group of COLUMNS and the same two of
  // its second, all in one row: mma.sync leaves two rows, 8 apart, and two groups.
  if (SPLIT > 1) ptx::cluster_wait();  // the other block's barrier is there
#pragma unroll
  for (int unit = 0; unit < S::UNITS; ++unit) {
    const int h = unit / (COLUMNS / 2), j = unit % (COLUMNS / 2) * 2;
    const float4 sum =
        make_float4(acc[j][2 * h], acc[j + 1][2 * h], acc[j][2 * h + 1], acc[j + 1][2 * h + 1]);
    float4* const to = &s.sums[unit % S::OWNED][rank * WARPS + warp][lane];
    if (SPLIT > 1)
      ptx::store_async(to, sum, &s.received, unit / S::OWNED);
    else
      *to = sum;
  }
  if (SPLIT > 1)
    ptx::mbarrier_wait_parity_cluster(&s.received, 0);
  else
    __syncthreads();

  // Added in the order of the parts, rounded, and put in order.
  for (int owned = warp; owned < S::OWNED; owned += WARPS) {
    float4 sum = s.sums[owned][0][lane];
#pragma unroll
    for (int part = 1; part < S::PARTS; ++part) {
      const float4 more = s.sums[owned][part][lane];
      sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
    }
    const int unit = rank * S::OWNED + owned, j = unit % (COLUMNS / 2) * 2;
    const int row = (unit / (COLUMNS / 2) * 8 + lane / 4) % (BM / SPLIT);
    half* const to = &s.staged[row][lane % 4 * 2 * COLUMNS + j];
    *reinterpret_cast<half2*>(to) = __floats2half2_rn(sum.x, sum.y);
    *reinterpret_cast<half2*>(to + COLUMNS) = __floats2half2_rn(sum.z, sum.w);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < BM / SPLIT * (BN / 8); i += WARPS * 32) {
    const int row = i / (BN / 8), col = i % (BN / 8) * 8;
    const int m = m0 + rank * (BM / SPLIT) + row, n = n0 + col;
    if (m < M && n + 8 <= N)
      as_uint4(C[m * ldc + n]) = as_uint4(s.staged[row][col]);
    else if (m < M)
      for (int e = 0; e < N - n; ++e) C[m * ldc + n + e] = s.staged[row][col + e];
  }
}

template <int WARPS, int BN, int SPLIT, int FLIGHT>
void launch_configuration(const Gemm<half, half>& p) {
  if (done_without_kernel(p)) return;
  const auto kernel = p.N % 8 == 0 && p.K % BK == 0 ? gemm_kernel<WARPS, BN, SPLIT, FLIGHT, true>
                                                    : gemm_kernel<WARPS, BN, SPLIT, 1, false>;
  launch_clusters(SPLIT, kernel, tile_grid(ceil_div(p.M, BM) * SPLIT, ceil_div(p.N, BN)),
                  dim3(WARPS * 32), sizeof(Shared<WARPS, BN, SPLIT>), p.stream, p.M, p.N, p.K, p.A,
                  p.lda, p.B, p.ldb, p.C, p.ldc);
}

// What the launcher chooses among.
struct Configuration {
  int warps, BN, split, flight;
  void (*launch)(const Gemm<half, half>&);
};
template <int WARPS, int BN, int SPLIT, int FLIGHT>
constexpr Configuration configuration() {
  return {WARPS, BN, SPLIT, FLIGHT, launch_configuration<WARPS, BN, SPLIT, FLIGHT>};
}
inline constexpr Configuration CONFIGURATIONS[] = {
    configuration<8, 64, 2, 8>(),  configuration<8, 64, 2, 3>(),  configuration<16, 64, 2, 3>(),
    configuration<4, 64, 2, 8>(),  configuration<8, 64, 1, 8>(),  configuration<8, 64, 1, 3>(),
    configuration<16, 64, 1, 3>(), configuration<8, 32, 1, 16>(), configuration<8, 32, 1, 7>(),
    configuration<16, 32, 1, 6>(), configuration<8, 32, 2, 8>(),
};

// "columns_64_split_2_warps_8_flight_8".
inline std::string name_of(const Configuration& c) {
  return "columns_" + std::to_string(c.BN) + "_split_" + std::to_string(c.split) + "_warps_" +
         std::to_string(c.warps) + "_flight_" + std::to_string(c.flight);
}

// One chunk of 16 rows of B ahead: nothing hides the way from global memory.
inline void gemm_one_ahead(const Gemm<half, half>& p) {
  launch_configuration<8, 64, 2, 1>(p);
}
// Tiles of half the width, and no cluster: a block has all of K.
inline void gemm_one_block_a_tile(const Gemm<half, half>& p) {
  launch_configuration<8, 32, 1, 16>(p);
}
inline void gemm(const Gemm<half, half>& p) {
  launch_configuration<8, 64, 2, 8>(p);
}

}  // namespace ladder::without_tiles
