#pragma once
// 05d split_in_cluster: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    where C has few tiles, smaller tiles, and K divided twice: among the blocks of a cluster
//         and among the warps of a block. Every part of a row of C goes through distributed shared
//         memory to the block that adds this row: no workspace, no second kernel.
// vs 05b  tiles of any size; of a tile's steps along K each slice of the warps takes some. Pointers
//         go round the ring of buffers, not offsets. The sums are added in shared memory, of this
//         block or of another one of its cluster. Of a table of tilings and 05c the launcher takes
//         what a small formula says is done first.
// Step    the choice is useless without the tilings that it chooses among.
// Limit   to be measured. Next: 05e.
#include <algorithm>
#include <cmath>
#include <string>

#include "05c_split_k.cuh"
#include "ptx/cluster.cuh"

namespace ladder::split_in_cluster {

constexpr int GROUP = 8;
constexpr int PIPE = 4, AHEAD = PIPE - 2;

// C is divided among blocks, a block's tile of it among warps. K is divided among the SPLIT blocks
// of a cluster, and of every tile of A and B the BK steps among SLICES groups of warps.
template <int BM_, int BN_, int BK_, int TM_, int TN_, int SLICES_, int SPLIT_>
struct Tiling {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_;
  static constexpr int SLICES = SLICES_, SPLIT = SPLIT_;
  static constexpr int WM = 4 * TM, WN = 8 * TN;     // four lanes along M, eight along N
  static constexpr int WARPS = BM / WM * (BN / WN);  // of a slice
  static constexpr int THREADS = SLICES * WARPS * 32;
  static constexpr int DEPTH = BK / SLICES;  // of a tile's k, those of a slice
  // Blocks that share a multiprocessor: each of its four schedulers has two warps.
  static constexpr int RESIDENT = THREADS < 256 ? 256 / THREADS : 1;
  // The parts of a row of C, and the rows that a block of the cluster adds.
  static constexpr int PARTS = SLICES * SPLIT, ROWS = BM / SPLIT;
  static_assert(BM % WM == 0 && BN % WN == 0 && BK % SLICES == 0);
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

// A block multiplies one of `ranges` parts of its tile's steps along K. The blocks of a cluster add
// theirs; without clusters each range has a C of its own, M rows after the one before.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::RESIDENT)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc, int ranges) {
  constexpr int THREADS = T::THREADS, BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN;
  constexpr int LDA = T::LDA, DEPTH = T::DEPTH;
  if (T::SPLIT > 1) ranges = T::SPLIT;
  auto& s = dynamic_shared<typename T::Shared>();
  if (T::SPLIT > 1) ptx::cluster_arrive_relaxed();
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x / ranges, M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, slice = warp / T::WARPS;
  const int warp_m = warp % (BM / T::WM) * T::WM;
  const int warp_n = warp % T::WARPS / (BM / T::WM) * T::WN;
  const int lane_m = lane / 2 % 4 * 4, lane_n = (lane / 8 * 2 + lane % 2) * 4;

  // A thread copies single elements of A (they are transposed on the way) and quads of B. Rows past
  // M and quads past N repeat valid ones: what comes of them is not stored.
  constexpr int A_STEP = THREADS / 8, A_ROWS = BM / A_STEP, B_STEP = THREADS / (BN / 4);
  static_assert(BM % A_STEP == 0 && BK % 8 == 0 && BK % B_STEP == 0);
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
  const int steps = ceil_div(K, BK), range = static_cast<int>(blockIdx.x % ranges);
  const int begin = static_cast<int64_t>(steps) * range / ranges,
            end = static_cast<int64_t>(steps) * (range + 1) / ranges;
  const int first_k0 = max(0, (begin > 0 ? begin : steps) - 1) * BK;
  for (int k = 0; k < BK; k += 8)
    for (int i = 0; i < A_ROWS; ++i)
      ptx::cp_async_ca_4(a_to + k * LDA + i * A_STEP, a_from[i] + first_k0 + k,
                         first_k0 + k + a_k < K ? 4 : 0);
  for (int k = 0; k < BK; k += B_STEP)
    ptx::cp_async_cg_16(b_to + k * BN, b_from + (first_k0 + k) * ldb,
                        first_k0 + k + b_k < K ? b_valid * 4 : 0);
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
    for (int k = 0; k < BK; k += 8)
      for (int i = 0; i < A_ROWS; ++i)
        ptx::cp_async_ca_4(a_to + k * LDA + i * A_STEP, a_from[i] + k, exists ? 4 : 0);
    for (int k = 0; k < BK; k += B_STEP)
      ptx::cp_async_cg_16_ignore_src(b_to + k * BN, b_from + k * ldb, !exists);
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
  if (T::SPLIT > 1) ptx::cluster_wait();  // the other blocks have begun and have shared memory
  const int part = (T::SPLIT > 1 ? range * T::SLICES : 0) + slice;
#pragma unroll
  for (int i = 0; i < TM; i += 4) {
    const int row = warp_m + lane_m + i * 4;
    float* to = &s.parts[part][row % T::ROWS / 4][warp_n + lane_n];
    if (T::SPLIT > 1) to = ptx::shared_of_block(to, row / T::ROWS);
    for (int r = 0; r < 4; ++r)
      for (int j = 0; j < TN; j += 4) {
        const float* const quad = &acc[i + r][j];
        as_float4(to[r * BN + j * 8]) = make_float4(quad[1], quad[0], quad[3], quad[2]);
      }
  }
  T::SPLIT > 1 ? ptx::cluster_sync() : __syncthreads();

  if (T::SPLIT == 1) C += range * (M * ldc);
  for (int row = threadIdx.x / (BN / 4); row < T::ROWS; row += B_STEP) {
    const int in_four = row % 4 * BN + b_n;
    float4 sum = as_float4(s.parts[0][row / 4][in_four]);
    for (int i = 1; i < T::PARTS; ++i) {
      const float4 next = as_float4(s.parts[i][row / 4][in_four]);
      sum = make_float4(sum.x + next.x, sum.y + next.y, sum.z + next.z, sum.w + next.w);
    }
    const int m = tile.m0 + (T::SPLIT > 1 ? range * T::ROWS : 0) + row;
    if (m < M)
      store4(&C[m * ldc + tile.n0 + b_n], make_float4(sum.y, sum.x, sum.w, sum.z), b_valid);
  }
}

// As many rows of C one after another as there are ranges of K: adds them, in the order of K.
static __global__ void __launch_bounds__(256)
    add_ranges_kernel(int M, int N, int ranges, const float* parts, float* C, int64_t ldc) {
  const int row = blockIdx.x, pitch = ceil_div(N, 4) * 4;
  for (int col = threadIdx.x; col < N; col += 256) {
    float sum = 0;
    for (int range = 0; range < ranges; ++range)
      sum += parts[(static_cast<int64_t>(range) * M + row) * pitch + col];
    C[row * ldc + col] = sum;
  }
}

template <class T>
void launch_tiling(const Gemm<float, float>& p, int ranges) {
  const int tiles = ceil_div(p.M, T::BM) * ceil_div(p.N, T::BN);
  launch_clusters(T::SPLIT, gemm_kernel<T>, dim3(tiles * ranges), dim3(T::THREADS),
                  sizeof(typename T::Shared), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C,
                  p.ldc, ranges);
}

// What the launcher chooses among.
struct Configuration {
  int BM, BN, BK, TM, TN, slices, split, resident;
  int rate;  // FMAs a clock of a multiprocessor that has its resident blocks
  void (*launch)(const Gemm<float, float>&, int ranges);
  void (*launch_apart)(const Gemm<float, float>&, int ranges);  // without clusters
};
template <int BM, int BN, int BK, int TM, int TN, int SLICES, int SPLIT>
constexpr Configuration configuration(int rate) {
  using T = Tiling<BM, BN, BK, TM, TN, SLICES, SPLIT>;
  using Apart = Tiling<BM, BN, BK, TM, TN, SLICES, 1>;
  return {
      BM, BN, BK, TM, TN, SLICES, SPLIT, T::RESIDENT, rate, launch_tiling<T>, launch_tiling<Apart>};
}
inline constexpr Configuration CONFIGURATIONS[] = {
    configuration<128, 256, 8, 16, 8, 1, 1>(105), configuration<128, 256, 8, 16, 8, 1, 2>(105),
    configuration<128, 128, 8, 8, 8, 1, 1>(100),  configuration<128, 128, 8, 8, 8, 1, 2>(100),
    configuration<128, 128, 8, 8, 8, 1, 4>(100),  configuration<128, 64, 16, 8, 8, 2, 1>(98),
    configuration<128, 64, 16, 8, 8, 2, 2>(98),   configuration<64, 64, 32, 8, 8, 4, 1>(95),
    configuration<64, 64, 32, 8, 8, 4, 2>(95),    configuration<64, 64, 32, 8, 8, 4, 4>(95),
    configuration<32, 128, 32, 8, 8, 4, 1>(95),   configuration<32, 128, 32, 8, 8, 4, 2>(95),
    configuration<64, 32, 32, 8, 4, 4, 1>(80),    configuration<64, 32, 32, 8, 4, 4, 2>(80),
    configuration<16, 128, 16, 4, 8, 2, 2>(80),   configuration<16, 128, 16, 4, 8, 2, 4>(80)};

inline std::string name(const Configuration& c) {
  const auto sizes = [](int m, int n) { return std::to_string(m) + "x" + std::to_string(n); };
  return sizes(c.BM, c.BN) + "_thread_" + sizes(c.TM, c.TN) + "_k_" + std::to_string(c.BK) +
         "_slices_" + std::to_string(c.slices) + "_cluster_" + std::to_string(c.split);
}

// Of clusters of more than two blocks those that fit leave a tenth of the multiprocessors unused.
inline int usable(int multiprocessors, int cluster) {
  return std::max(cluster, cluster > 2 ? multiprocessors * 10 / 11 : multiprocessors);
}

// How many clocks a configuration takes: waves of blocks, each of which multiplies its steps and
// adds its parts, for which they are written to shared memory and read, 32 floats a clock.
inline double clocks(const Gemm<float, float>& p, const Configuration& c, int multiprocessors) {
  constexpr double START = 3000, CLUSTER = 1500;
  const double blocks = static_cast<double>(ceil_div(p.M, c.BM)) * ceil_div(p.N, c.BN) * c.split;
  const double waves = std::ceil(blocks / usable(multiprocessors, c.split) / c.resident);
  const double tile = static_cast<double>(c.BM) * c.BN * c.resident;
  const int k = ceil_div(ceil_div(p.K, c.BK), c.split) * c.BK;
  return START + (c.split > 1 ? CLUSTER : 0) +
         waves * (tile * k / c.rate + tile * c.slices * 2 / 32);
}
// The same for 05c.
inline double clocks(const Gemm<float, float>& p, const split_k::Split& split,
                     int multiprocessors) {
  constexpr double START = 3000, SECOND_KERNEL = 8000, RATE = 105, DIVIDED = 1.15;
  const double tile = static_cast<double>(split_k::BM) * split_k::BN * p.K / RATE;
  const int waves = ceil_div(split.whole, multiprocessors);
  if (split.divided == 0) return START + waves * tile;
  return START + SECOND_KERNEL + tile * (waves + DIVIDED * split.divided / split.workers);
}

// The workspace for a C of each range of K.
inline uint64_t ranges_bytes(const Gemm<float, float>& p, int ranges) {
  return sizeof(float) * ranges * p.M * (ceil_div(p.N, 4) * uint64_t{4});
}

// A variant leaves out one part of the idea.
enum class LeftOut { NOTHING, TILES, SLICES, CLUSTERS };

// What is done first, and in how many clocks; no configuration where that is 05c.
struct Choice {
  const Configuration* configuration;
  double clocks;
};
inline Choice chosen(const Gemm<float, float>& p, LeftOut left_out) {
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  Choice first{nullptr, clocks(p, split_k::split_of(p), multiprocessors)};
  for (const Configuration& c : CONFIGURATIONS) {
    if ((left_out == LeftOut::TILES && c.BM * c.BN < split_k::BM * split_k::BN) ||
        (left_out == LeftOut::SLICES && c.slices > 1) ||
        (left_out == LeftOut::CLUSTERS && c.split > 1))
      continue;
    const double needed = clocks(p, c, multiprocessors);
    if (needed < first.clocks) first = {&c, needed};
  }
  return first;
}

inline void gemm_as(const Configuration& c, const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M > 0 && p.N > 0) c.launch(p, c.split);
}

template <LeftOut LEFT_OUT>
void gemm_without(const Gemm<float, float>& p) {
  require_valid(p);
  if (p.M == 0 || p.N == 0) return;
  const Configuration* const c = chosen(p, LEFT_OUT).configuration;
  c ? gemm_as(*c, p) : split_k::gemm(p);
}
template <LeftOut LEFT_OUT>
uint64_t workspace_bytes_without(const Gemm<float, float>& p) {
  return chosen(p, LEFT_OUT).configuration ? 0 : split_k::workspace_bytes(p);
}

// As 05c does it: the parts of a tile go to the workspace, and a second kernel adds them.
inline void gemm_through_workspace(const Gemm<float, float>& p) {
  const Configuration* const c = chosen(p, LeftOut::NOTHING).configuration;
  if (p.M == 0 || p.N == 0 || !c || c->split == 1) return gemm_without<LeftOut::NOTHING>(p);
  require_valid(p);
  require_aligned_rows(p);
  require_workspace(p, ranges_bytes(p, c->split));
  Gemm<float, float> apart = p;
  apart.C = static_cast<float*>(p.workspace);
  apart.ldc = ceil_div(p.N, 4) * 4;
  c->launch_apart(apart, c->split);
  launch(add_ranges_kernel, dim3(p.M), dim3(256), 0, p.stream, p.M, p.N, c->split, apart.C, p.C,
         p.ldc);
}
inline uint64_t workspace_bytes_through_workspace(const Gemm<float, float>& p) {
  const Configuration* const c = chosen(p, LeftOut::NOTHING).configuration;
  if (!c) return split_k::workspace_bytes(p);
  return c->split > 1 ? ranges_bytes(p, c->split) : 0;
}

inline void gemm(const Gemm<float, float>& p) {
  gemm_without<LeftOut::NOTHING>(p);
}
inline uint64_t workspace_bytes(const Gemm<float, float>& p) {
  return workspace_bytes_without<LeftOut::NOTHING>(p);
}

}  // namespace ladder::split_in_cluster
