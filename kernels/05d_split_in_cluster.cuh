#pragma once
// 05d split_in_cluster: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    where C has few tiles, smaller tiles, and K divided twice: among the blocks of a cluster
//         and among the warps of a block. Every part of a row of C goes through distributed shared
//         memory to the block that adds this row: no workspace, no second kernel.
// vs 05b  tiles of 128, 64 or 32 rows, with 8 warps always: of a tile's steps along K each slice of
//         the warps takes some. Pointers go round the ring of buffers, not offsets. The sums are
//         added in shared memory, of this block or of another one of its cluster. Of seven tilings
//         and 05c the launcher takes what a small formula says is done first.
// Step    the choice is useless without the tilings that it chooses among.
// Limit   at 512 launch, first copies and sums (FMA pipe 47%); with 16 rows the tiles, which are
//         made for twice as many, on 64 multiprocessors (70%). Next: 05e.
#include <algorithm>
#include <string>

#include "05c_split_k.cuh"
#include "ptx/cluster.cuh"

namespace ladder::split_in_cluster {

using split_barrier::SumsAlone;
constexpr int THREADS = 256;
constexpr int BN = 128, WN = 64, TN = 8;
constexpr int GROUP = 8;
constexpr int PIPE = 4, AHEAD = PIPE - 2;
constexpr int DEPTH = 8;  // the k of a tile of A and B that a slice of the warps takes

// C is divided among blocks, a block's tile of it among the warps of a slice. K is divided among
// the SPLIT blocks of a cluster, and the k of every tile of A and B among SLICES slices of the
// warps.
template <int BM_, int SLICES_, int SPLIT_, bool APART = false>
struct Tiling {
  static constexpr int BM = BM_, SLICES = SLICES_, SPLIT = SPLIT_, BK = SLICES * DEPTH;
  static constexpr int CLUSTER = APART ? 1 : SPLIT;  // apart, the sums go to a workspace
  // 8 warps: as many as are in a slice have the tile, two of them its columns.
  static constexpr int WARPS = 8 / SLICES, WM = BM / (WARPS / 2), TM = WM / 4;
  // The parts of a row of C, and the rows that a block of the cluster adds.
  static constexpr int PARTS = SLICES * CLUSTER, ROWS = BM / CLUSTER;
  static_assert(ROWS % 4 == 0, "four successive rows, a lane's, go to one block");

  // A is stored transposed; rows padded by 4 keep its quads aligned and the copies free of
  // conflicts.
  static constexpr int LDA = BM + 4;
  static constexpr int TILE_FLOATS = BK * (LDA + BN);
  struct Shared {
    float buffers[PIPE * TILE_FLOATS];
    // In the order of K. Every four rows are padded by 8 floats: a lane's rows are stored without
    // bank conflicts.
    float parts[PARTS][ROWS / 4][4 * BN + 8];
    uint64_t next_tile_landed;
  };
};

template <class T, class Finish>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc, const Finish finish) {
  constexpr int BM = T::BM, BK = T::BK, TM = T::TM, LDA = T::LDA;
  constexpr bool TOGETHER = T::CLUSTER > 1;
  auto& s = dynamic_shared<typename T::Shared>();
  if (TOGETHER) ptx::cluster_arrive_relaxed();
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x / T::SPLIT, M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, slice = warp / T::WARPS;
  const int warp_m = warp % (BM / T::WM) * T::WM, warp_n = warp % T::WARPS / (BM / T::WM) * WN;
  const int lane_m = lane / 2 % 4 * 4, lane_n = (lane / 8 * 2 + lane % 2) * 4;

  // A thread copies single elements of A (they are transposed on the way) and quads of B. Rows past
  // M and quads past N repeat valid ones: what comes of them is not stored.
  constexpr int A_STEP = THREADS / 8, A_ROWS = BM / A_STEP, B_STEP = THREADS / (BN / 4);
  static_assert(B_STEP == 8, "the k of one copy of A, too");
  const int a_m = threadIdx.x / 8, a_k = threadIdx.x % 8;
  const int b_k = threadIdx.x / (BN / 4), b_n = threadIdx.x % (BN / 4) * 4;
  const int b_valid = max(0, min(4, N - tile.n0 - b_n));
  float* a_to = &s.buffers[a_k * LDA + a_m];
  float* b_to = &s.buffers[BK * LDA + b_k * BN + b_n];
  const float* a_from[A_ROWS];
  for (int i = 0; i < A_ROWS; ++i)
    a_from[i] = &A[min(tile.m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const float* b_from = &B[b_k * ldb + (b_valid > 0 ? tile.n0 + b_n : 0)];

  // Step 0 is the tile's last along K, which K may cut: it is multiplied first, and the others are
  // copied unchecked. Step t > 0 begins at (t - 1) * BK.
  const int64_t steps = ceil_div(K, BK);
  const int rank = static_cast<int>(blockIdx.x % T::SPLIT);
  const int begin = steps * rank / T::SPLIT, end = steps * (rank + 1) / T::SPLIT;
  const int first_k0 = max(0, (begin > 0 ? begin : static_cast<int>(steps)) - 1) * BK;
  for (int k = 0; k < BK; k += 8) {
    const int k0 = first_k0 + k;
    for (int i = 0; i < A_ROWS; ++i)
      ptx::cp_async_ca_4(a_to + k * LDA + i * A_STEP, a_from[i] + k0, k0 + a_k < K ? 4 : 0);
    ptx::cp_async_cg_16(b_to + k * BN, b_from + k0 * ldb, k0 + b_k < K ? b_valid * 4 : 0);
  }
  ptx::cp_async_commit_group();

  // From here on copies go round the buffers. Past the last tile, zeros are filled in. Pointers go
  // round themselves: what is added to fixed ones, the compiler computes anew for every tile, from
  // the number of the thread.
  const auto next_buffer = [](unsigned& buffer, float*& a, float*& b) {
    buffer = (buffer + 1) % PIPE;
    const int floats = buffer > 0 ? T::TILE_FLOATS : -(PIPE - 1) * T::TILE_FLOATS;
    a += floats;
    b += floats;
  };
  for (const float*& from : a_from) from += begin * BK;
  b_from += begin * BK * ldb;
  unsigned copy_buffer = 0;
  const auto copy_next = [&](bool exists) {
    next_buffer(copy_buffer, a_to, b_to);
    for (int k = 0; k < BK; k += 8) {
      for (int i = 0; i < A_ROWS; ++i)
        ptx::cp_async_ca_4(a_to + k * LDA + i * A_STEP, a_from[i] + k, exists ? 4 : 0);
      ptx::cp_async_cg_16_ignore_src(b_to + k * BN, b_from + k * ldb, !exists);
    }
    ptx::cp_async_commit_group();
    for (const float*& from : a_from) from += BK;
    b_from += BK * ldb;
  };
  for (int t = 1; t < AHEAD; ++t) copy_next(begin + t < end);

  float* a_fragment = &s.buffers[slice * DEPTH * LDA + warp_m + lane_m];
  float* b_fragment = &s.buffers[BK * LDA + slice * DEPTH * BN + warp_n + lane_n];
  float rA[2][TM], rB[2][TN];
  const auto load_fragments = [&](int to, int k) {
    for (int j = 0; j < TN; j += 4) as_float4(rB[to][j]) = as_float4(b_fragment[k * BN + j * 8]);
    for (int i = 0; i < TM; i += 4) as_float4(rA[to][i]) = as_float4(a_fragment[k * LDA + i * 4]);
  };
  if (threadIdx.x == 0) ptx::mbarrier_init(&s.next_tile_landed, THREADS);
  ptx::cp_async_wait_group<AHEAD - 1>();
  __syncthreads();
  load_fragments(0, 0);

  float acc[TM][TN] = {};
  unsigned buffer = 0;  // of the tile that is multiplied; with an even PIPE also the phase's parity
#pragma unroll 1
  for (int t = begin; t < end; ++t) {
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      // This thread's copies of the next tile have landed, and it is done with the tile before this
      // one, whose buffer is filled next once everyone has said so.
      if (k == DEPTH / 2 - 1) {
        ptx::cp_async_wait_group<AHEAD - 1>();
        ptx::mbarrier_arrive(&s.next_tile_landed);
      }
      if (k + 1 == DEPTH) {
        while (!ptx::mbarrier_test_wait_parity(&s.next_tile_landed, buffer % 2)) {
        }
        next_buffer(buffer, a_fragment, b_fragment);
      }
      load_fragments((k + 1) % 2, (k + 1) % DEPTH);
      if (k == 0) copy_next(t + AHEAD < end);  // behind the loads, for which the FMAs wait

      for (int i = 0; i < TM; ++i)
        for (int step = 0; step < TN; ++step) {
          const int j = i % 2 == 1 ? TN - 1 - step : step;
          acc[i][j] += rA[k % 2][i] * rB[k % 2][j];
        }
    }
  }
  ptx::cp_async_wait_group<0>();  // zeros may still be on their way

  // Every quad goes to the block that adds its row, in the order (1, 0, 3, 2) still, for the
  // register banks.
  if (TOGETHER) ptx::cluster_wait();  // the other blocks have begun and have shared memory
  const int part = (TOGETHER ? rank * T::SLICES : 0) + slice;
#pragma unroll
  for (int i = 0; i < TM; i += 4) {
    const int row = warp_m + lane_m + i * 4;
    float* to = &s.parts[part][row % T::ROWS / 4][warp_n + lane_n];
    if (TOGETHER) to = ptx::shared_of_block(to, row / T::ROWS);
    for (int r = 0; r < 4; ++r)
      for (int j = 0; j < TN; j += 4) {
        const float* const quad = &acc[i + r][j];
        as_float4(to[r * BN + j * 8]) = make_float4(quad[1], quad[0], quad[3], quad[2]);
      }
  }
  TOGETHER ? ptx::cluster_sync() : __syncthreads();

  if (!TOGETHER) C += rank * (M * ldc);  // apart, each block of a tile has a C of its own
  for (int row = threadIdx.x / (BN / 4); row < T::ROWS; row += B_STEP) {
    const int in_four = row % 4 * BN + b_n;
    float4 sum = as_float4(s.parts[0][row / 4][in_four]);
    for (int i = 1; i < T::PARTS; ++i) {
      const float4 next = as_float4(s.parts[i][row / 4][in_four]);
      sum = make_float4(sum.x + next.x, sum.y + next.y, sum.z + next.z, sum.w + next.w);
    }
    const int m = tile.m0 + (TOGETHER ? rank * T::ROWS : 0) + row;
    const int n = tile.n0 + b_n;
    if (m < M)
      store4(&C[m * ldc + n], finish(make_float4(sum.y, sum.x, sum.w, sum.z), m, n), b_valid);
  }
}

template <class T, class Finish>
void launch_and_finish(const Gemm<float, float>& p, const Finish& finish) {
  const int tiles = ceil_div(p.M, T::BM) * ceil_div(p.N, BN);
  launch_clusters(T::CLUSTER, gemm_kernel<T, Finish>, dim3(tiles * T::SPLIT), dim3(THREADS),
                  sizeof(typename T::Shared), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C,
                  p.ldc, finish);
}
template <class T>
void launch_tiling(const Gemm<float, float>& p) {
  launch_and_finish<T>(p, SumsAlone{});
}

// What the launcher chooses among.
struct Configuration {
  int BM, slices, split;
  double rate;  // FMAs a clock of a multiprocessor (H200)
  void (*launch)(const Gemm<float, float>&);
};
template <int BM, int SLICES, int SPLIT>
constexpr Configuration configuration(double rate) {
  return {BM, SLICES, SPLIT, rate, launch_tiling<Tiling<BM, SLICES, SPLIT>>};
}
inline constexpr Configuration CONFIGURATIONS[] = {
    configuration<128, 2, 1>(102.5), configuration<128, 2, 2>(102.5), configuration<128, 1, 2>(98),
    configuration<128, 1, 4>(98),    configuration<64, 2, 1>(97),     configuration<32, 4, 1>(97),
    configuration<32, 4, 2>(97)};

inline std::string name(const Configuration& c) {
  return std::to_string(c.BM) + "x128_slices_" + std::to_string(c.slices) + "_cluster_" +
         std::to_string(c.split);
}

// How many clocks a configuration takes: waves of blocks, each of which multiplies its k. START is
// for the launch, BLOCK for a block's first copies and its sums, and IN_CLUSTER for sums that it
// sends and waits for (H200).
constexpr double START = 8500, BLOCK = 4100, IN_CLUSTER = 2200;
inline double clocks(const Gemm<float, float>& p, const Configuration& c, int multiprocessors) {
  const int blocks = ceil_div(p.M, c.BM) * ceil_div(p.N, BN) * c.split;
  const int step = c.slices * DEPTH, k = ceil_div(ceil_div(p.K, step), c.split) * step;
  const double tile = BLOCK + (c.split > 1 ? IN_CLUSTER : 0) + c.BM * BN / c.rate * k;
  return START + ceil_div(blocks, multiprocessors) * tile;
}
// The same for 05c, whose parts of tiles and second kernel take PARTS.
inline double clocks(const Gemm<float, float>& p, const split_k::Split& split,
                     int multiprocessors) {
  constexpr double RATE = 105, DIVIDED = 1.11, PARTS = 35500;
  const double tile = split_k::BM * split_k::BN / RATE * p.K;
  const double whole = ceil_div(split.whole, multiprocessors) * (BLOCK + tile);
  if (split.divided == 0) return START + whole;
  return START + whole + PARTS + DIVIDED * tile * split.divided / split.workers;
}

// A variant leaves out one part of the idea.
enum class LeftOut { NOTHING, SLICES, CLUSTERS };

// What is done first, and in how many clocks; no configuration where that is 05c.
struct Choice {
  const Configuration* configuration;
  double clocks;
};
inline Choice chosen(const Gemm<float, float>& p, LeftOut left_out) {
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  Choice first{nullptr, clocks(p, split_k::split_of(p), multiprocessors)};
  for (const Configuration& c : CONFIGURATIONS) {
    const double needed = clocks(p, c, multiprocessors);
    const bool allowed = !(left_out == LeftOut::SLICES && c.slices > 1) &&
                         !(left_out == LeftOut::CLUSTERS && c.split > 1);
    if (allowed && needed < first.clocks) first = {&c, needed};
  }
  return first;
}

inline void gemm_as(const Configuration& c, const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M > 0 && p.N > 0) c.launch(p);
}

template <LeftOut LEFT_OUT>
void gemm_without(const Gemm<float, float>& p) {
  const Configuration* const c = chosen(p, LEFT_OUT).configuration;
  c ? gemm_as(*c, p) : split_k::gemm(p);
}
template <LeftOut LEFT_OUT>
uint64_t workspace_bytes_without(const Gemm<float, float>& p) {
  return chosen(p, LEFT_OUT).configuration ? 0 : split_k::workspace_bytes(p);
}
inline void gemm(const Gemm<float, float>& p) {
  gemm_without<LeftOut::NOTHING>(p);
}
inline uint64_t workspace_bytes(const Gemm<float, float>& p) {
  return workspace_bytes_without<LeftOut::NOTHING>(p);
}

}  // namespace ladder::split_in_cluster
