#pragma once
// 14 few_rows: C[M,N] = A[M,K] * B[K,N], row-major, fp16 or bf16, fp32 accumulate.
// Idea    with few rows, C has fewer tiles than the GPU has multiprocessors, and B is read once and
//         for nothing else: a cluster divides one tile's K, so that all of them read. Its blocks
//         add their sums through each other's shared memory: no workspace, no second kernel.
// vs 13   one tile a cluster, of 8 to 128 rows; each block has every SPLIT-th step along K, and its
//         share of the rows to add up and to store; st.async brings the sums to their owner. One
//         warpgroup for 64 columns. The lanes store C. A table of configurations, and a first
//         choice.
// Step    no loop over tiles of C and none of its epilogue is left; four ways for the sums to come
//         together stand side by side.
// Limit   device memory, 4.5 TB/s for 7.4 of 13.3 us; nothing launched takes 3.5 of the rest (H200,
//         16x4096x4096).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/ring.cuh"
#include "parts/sixteen_bits.cuh"
#include "parts/tile_grid.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/cluster.cuh"
#include "ptx/grid_dependency.cuh"
#include "ptx/movmatrix.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::few_rows {

constexpr int WARPGROUP = 128;
constexpr int MMA_K = 16;
constexpr int BK = 64;
constexpr int BOX = 64;  // columns of a box: 128 bytes; wgmma's m, for the product is transposed
constexpr int UNIT = 8;  // rows of C that have one owner
constexpr int MOST_BUFFERS = 32;

// How the partial sums of a tile come together.
enum class Sums {
  ALONE,      // one block has all of K
  SENT,       // st.async, to the block that adds them
  FETCHED,    // the block that adds them loads them from the others, between two barriers
  WORKSPACE,  // through global memory, and another kernel adds them
};

// A tile of BM rows and BN columns of C, of a cluster of SPLIT blocks.
template <class T, int BM, int BN, int SPLIT>
struct Shared {
  static constexpr int CONSUMERS = BN / BOX;  // warpgroups that multiply
  static constexpr int THREADS = CONSUMERS * WARPGROUP + 32;
  static constexpr int UNITS = BM / UNIT;
  // Units that one block adds up, at most; who is alone adds nothing up.
  static constexpr int OWNED = SPLIT == 1 ? 1 : ceil_div(UNITS, SPLIT);
  struct Tiles {
    T B[BN / BOX][BK][BOX];
    T A[BM][BK];
  };
  // Of the units that this block owns: of each block, what every consumer's thread has of it. Where
  // nothing is sent, what this block has of all units.
  float4 sums[OWNED][SPLIT][CONSUMERS * WARPGROUP];
  uint64_t full[MOST_BUFFERS];   // completes when a tile has landed
  uint64_t empty[MOST_BUFFERS];  // completes when all consumers have multiplied it
  uint64_t received;             // completes when the sums of all blocks are there
  alignas(1024) Tiles tiles[1];  // and as many more as the launch asks memory for

  static constexpr size_t bytes(int buffers) {
    return offsetof(Shared, tiles) + static_cast<size_t>(buffers) * sizeof(Tiles);
  }
};

// What a variant does otherwise.
struct Otherwise {
  bool k_in_a_row;      // each block has a piece of K in a row
  bool barriers_first;  // all barriers are prepared before the first copy is started
};

// The steps along K of block `rank` of a tile's: every SPLIT-th, so that all blocks of the grid go
// through B from top to bottom together.
struct Steps {
  int first, stride, count;
};
template <int SPLIT>
__device__ __forceinline__ Steps steps_of(int rank, int K, Otherwise otherwise) {
  const int all = ceil_div(K, BK);
  if (!otherwise.k_in_a_row) return {rank, SPLIT, (all - rank + SPLIT - 1) / SPLIT};
  const int each = ceil_div(all, SPLIT), first = min(all, rank * each);
  return {first, 1, min(each, all - first)};
}

// Starts the copies of a step's tiles to a buffer.
template <class T, int BM, int BN, int SPLIT>
__device__ __forceinline__ void load(Shared<T, BM, BN, SPLIT>& s, const CUtensorMap& map_A,
                                     const CUtensorMap& map_B, Tile tile, Steps steps, int t,
                                     int buffer) {
  auto& to = s.tiles[buffer];
  uint64_t* const full = &s.full[buffer];
  ptx::mbarrier_arrive_expect_tx(full, sizeof to);
  const int k0 = (steps.first + t * steps.stride) * BK;
  for (int j = 0; j < BN / BOX; ++j) ptx::tma_load(to.B[j], &map_B, tile.n0 + j * BOX, k0, full);
  ptx::tma_load(to.A, &map_A, k0, tile.m0, full);
}

// The producer, a warp, of which an elected lane orders the copies (see 13). First it fills all
// buffers, of which it prepares each barrier just before it is needed: to prepare all of them first
// takes 0.4 us more (H200, 16x4096x4096).
template <class T, int BM, int BN, int SPLIT>
__device__ __forceinline__ void fill(Shared<T, BM, BN, SPLIT>& s, const CUtensorMap& map_A,
                                     const CUtensorMap& map_B, Tile tile, Steps steps, int buffers,
                                     Otherwise otherwise) {
  if (otherwise.barriers_first && ptx::elect_one()) {
    for (int t = 0; t < buffers; ++t) ptx::mbarrier_init(&s.full[t], 1);
    ptx::fence_mbarrier_init();
  }
#pragma unroll 1
  for (int t = 0; t < min(buffers, steps.count); ++t) {
    if (!ptx::elect_one()) continue;
    if (!otherwise.barriers_first) {
      ptx::mbarrier_init(&s.full[t], 1);
      ptx::fence_mbarrier_init();  // TMA sees it, too
    }
    load(s, map_A, map_B, tile, steps, t, t);
  }
}
// Then it fills every buffer as soon as it is empty.
template <class T, int BM, int BN, int SPLIT>
__device__ __forceinline__ void refill(Shared<T, BM, BN, SPLIT>& s, const CUtensorMap& map_A,
                                       const CUtensorMap& map_B, Tile tile, Steps steps,
                                       Ring ring) {
#pragma unroll 1
  for (int t = ring.buffers; t < steps.count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.empty[ring.buffer], ring.parity);
    if (ptx::elect_one()) load(s, map_A, map_B, tile, steps, t, ring.buffer);
  }
}

// A consumer, a warpgroup: multiplies its 64 columns of every tile as soon as it has landed.
template <class T, int BM, int BN, int SPLIT>
__device__ __forceinline__ void consume(Shared<T, BM, BN, SPLIT>& s, Steps steps, Ring ring,
                                        float (&acc)[BM / 2]) {
  const auto& first = s.tiles[0];
  const uint64_t first_a = descriptor_a(first.A, 0, 0),
                 first_b = descriptor_b(first.B, 0, warpgroup_of_block());
  unsigned before = 0;
#pragma unroll 1
  for (int t = 0; t < steps.count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const uint64_t a = further(first_a, ring.buffer * sizeof first),
                   b = further(first_b, ring.buffer * sizeof first);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
      ptx::wgmma_m64k16_f32<T, ptx::Major::MN, ptx::Major::K>(
          acc, further(b, k * sizeof first.B[0][0]), further(a, k * sizeof(T)), true);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0 && threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty[before]);
    before = ring.buffer;
  }
  ptx::wgmma_wait_group<0>();  // no buffer is needed again
}

// Two neighbours of a row of C, of which the first `valid` exist.
template <class T>
__device__ __forceinline__ void store_pair(T* to, uint32_t pair, int valid) {
  if (valid >= 2)
    *reinterpret_cast<uint32_t*>(to) = pair;
  else if (valid == 1)
    *to = reinterpret_cast<const T&>(pair);  // its lower half
}

// What a warp has of a unit, 16 columns of C, to row m0 and column n0. wgmma has left it
// transposed: a lane has two rows of column lane / 4, and of the column 8 further.
template <class T>
__device__ __forceinline__ void store_unit(float4 sum, T* C, int64_t ldc, int m0, int n0, int M,
                                           int N) {
  const auto turned = [](float low, float high) {
    return ptx::movmatrix_trans(as_pair<T>(low, high));
  };
  const uint32_t left = turned(sum.x, sum.y), right = turned(sum.z, sum.w);
  const int lane = threadIdx.x % 32, m = m0 + lane / 4, n = n0 + lane % 4 * 2;
  if (m >= M) return;
  store_pair(&C[m * ldc + n], left, N - n);
  store_pair(&C[m * ldc + n + 8], right, N - n - 8);
}

// Always in the order of the blocks' ranks.
template <int SPLIT, class From>
__device__ __forceinline__ float4 added(From from) {
  float4 sum = from(0);
#pragma unroll
  for (int rank = 1; rank < SPLIT; ++rank) {
    const float4 part = from(rank);
    sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
  }
  return sum;
}

template <class T, int BM, int BN, int SPLIT, Sums SUMS>
__global__ void __launch_bounds__(Shared<T, BM, BN, SPLIT>::THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, T* C, int64_t ldc, int buffers,
                Otherwise otherwise, float4* workspace) {
  using S = Shared<T, BM, BN, SPLIT>;
  constexpr bool CLUSTER = SUMS == Sums::SENT || SUMS == Sums::FETCHED;
  constexpr int CONSUMER_THREADS = S::CONSUMERS * WARPGROUP;
  S& s = dynamic_shared<S>();
  const int rank = blockIdx.x % SPLIT;
  const int tile_n = tile_column();
  const Tile tile = {static_cast<int>(blockIdx.x / SPLIT) * BM, tile_n * BN};
  if (tile_n >= ceil_div(N, BN)) return;
  const Steps steps = steps_of<SPLIT>(rank, K, otherwise);
  const int owned = (S::UNITS - rank + SPLIT - 1) / SPLIT;  // units: every SPLIT-th
  const bool is_producer = warp_of_block() == CONSUMER_THREADS / 32;

  ptx::let_next_grid_start();    // without Gemm::starts_early these two do nothing
  ptx::wait_for_grids_before();  // from here on, matrices are read and written
  if (is_producer) fill(s, map_A, map_B, tile, steps, buffers, otherwise);
  if (threadIdx.x == 0) {  // meanwhile, the other barriers
    for (int i = 0; i < buffers; ++i) ptx::mbarrier_init(&s.empty[i], S::CONSUMERS);
    if (SUMS == Sums::SENT) {
      ptx::mbarrier_init(&s.received, 1);
      ptx::fence_mbarrier_init();  // the other blocks see it, too
      ptx::mbarrier_arrive_expect_tx(&s.received, owned * sizeof s.sums[0]);
    }
  }
  __syncthreads();                             // all barriers are there
  if (CLUSTER) ptx::cluster_arrive_relaxed();  // and does not wait for the other blocks yet
  if (is_producer) {
    refill(s, map_A, map_B, tile, steps, Ring{static_cast<unsigned>(buffers)});
    if (CLUSTER) ptx::cluster_wait();
    return;
  }
  float acc[BM / 2] = {};
  consume(s, steps, Ring{static_cast<unsigned>(buffers)}, acc);

  const int warp_n = tile.n0 + threadIdx.x / 32 * 16;
  const auto part = [&](int unit) {
    const float* const a = &acc[unit * 4];
    return make_float4(a[0], a[1], a[2], a[3]);
  };
  const auto store = [&](int unit, float4 sum) {
    store_unit(sum, C, ldc, tile.m0 + unit * UNIT, warp_n, M, N);
  };

  if constexpr (SUMS == Sums::ALONE) {
#pragma unroll
    for (int unit = 0; unit < S::UNITS; ++unit) store(unit, part(unit));
  } else if constexpr (SUMS == Sums::SENT) {
    ptx::cluster_wait();  // the other blocks' barriers are there
#pragma unroll
    for (int unit = 0; unit < S::UNITS; ++unit)
      ptx::store_async(&s.sums[unit / SPLIT][rank][threadIdx.x], part(unit), &s.received,
                       unit % SPLIT);
    // Who owns nothing may leave: nobody sends to it.
    if (owned > 0) ptx::mbarrier_wait_parity_cluster(&s.received, 0);
    for (int i = 0; i < owned; ++i)
      store(rank + i * SPLIT, added<SPLIT>([&](int from) { return s.sums[i][from][threadIdx.x]; }));
  } else if constexpr (SUMS == Sums::FETCHED) {
    ptx::cluster_wait();
#pragma unroll
    for (int unit = 0; unit < S::UNITS; ++unit)
      s.sums[unit / SPLIT][unit % SPLIT][threadIdx.x] = part(unit);
    ptx::cluster_sync();  // all sums are there
    for (int i = 0; i < owned; ++i) {
      float4* const sum = &s.sums[i][rank][threadIdx.x];
      store(rank + i * SPLIT,
            added<SPLIT>([&](int from) { return *ptx::shared_of_block(sum, from); }));
    }
    ptx::cluster_sync();  // no block may leave while the others read from it
  } else {
    const int64_t index = int64_t{tile_n} * gridDim.x + blockIdx.x;
    float4* const sums = &workspace[index * S::UNITS * CONSUMER_THREADS];
#pragma unroll
    for (int unit = 0; unit < S::UNITS; ++unit)
      sums[unit * CONSUMER_THREADS + threadIdx.x] = part(unit);
  }
}

// Adds what the blocks of a tile have left in the workspace. A block has a unit of a tile.
template <class T, int BM, int BN, int SPLIT>
__global__ void __launch_bounds__(BN / BOX * WARPGROUP)
    add_kernel(int M, int N, T* C, int64_t ldc, const float4* workspace) {
  constexpr int UNITS = BM / UNIT, THREADS = BN / BOX * WARPGROUP;
  const int tile_m = blockIdx.x / UNITS, unit = blockIdx.x % UNITS;
  const int tile_n = tile_column();
  if (tile_n >= ceil_div(N, BN)) return;
  const int64_t index = int64_t{tile_n} * (gridDim.x / UNITS) + tile_m;
  const float4* const sums = &workspace[(index * SPLIT * UNITS + unit) * THREADS + threadIdx.x];
  store_unit(added<SPLIT>([&](int from) { return sums[from * UNITS * THREADS]; }), C, ldc,
             tile_m * BM + unit * UNIT, tile_n * BN + threadIdx.x / 32 * 16, M, N);
}

// A multiprocessor's shared memory, of which a block has 1 KB less than its share. A block that has
// it alone leaves some: with more on their way all bytes take longer (128x14336x4096, H200: 32.1 us
// with five buffers of 32 KB, and 33.8 with six).
constexpr size_t MULTIPROCESSOR_BYTES = 228 * 1024, RESERVED_BYTES = 1024;
constexpr size_t MOST_BYTES = 182 * 1024;

// As many buffers as `blocks` blocks on a multiprocessor leave each other.
template <class T, int BM, int BN, int SPLIT>
constexpr int buffers_of(int blocks) {
  using S = Shared<T, BM, BN, SPLIT>;
  const size_t bytes = std::min(MULTIPROCESSOR_BYTES / blocks - RESERVED_BYTES, MOST_BYTES);
  if (bytes < S::bytes(1)) return 0;
  return std::min(MOST_BUFFERS,
                  static_cast<int>((bytes - S::bytes(0)) / sizeof(typename S::Tiles)));
}

#ifndef __CUDACC_RTC__
// What Gemm::workspace has to have with Sums::WORKSPACE: each block's part of a tile.
template <int BM, int BN, int SPLIT, class T>
uint64_t workspace_bytes(const Gemm<T, T>& p) {
  const int64_t tiles = int64_t{ceil_div(p.M, BM)} * ceil_div(p.N, BN);
  return static_cast<uint64_t>(tiles) * SPLIT * BM * BN * sizeof(float);
}

// Throws CudaError where there is no TMA.
template <class T, int BM, int BN, int SPLIT, Sums SUMS>
void launch_configuration(const Gemm<T, T>& p, int buffers, Otherwise otherwise) {
  using S = Shared<T, BM, BN, SPLIT>;
  if (done_without_kernel(p)) return;
  if (SUMS == Sums::WORKSPACE) require_workspace(p, workspace_bytes<BM, BN, SPLIT>(p));
  const int tiles_m = ceil_div(p.M, BM), tiles_n = ceil_div(p.N, BN);
  const unsigned cluster = SUMS == Sums::SENT || SUMS == Sums::FETCHED ? SPLIT : 1;
  float4* const workspace = static_cast<float4*>(p.workspace);
  launch_clusters(cluster, gemm_kernel<T, BM, BN, SPLIT, SUMS>, tile_grid(tiles_m * SPLIT, tiles_n),
                  dim3(S::THREADS), S::bytes(buffers), {p.stream, p.starts_early}, p.M, p.N, p.K,
                  ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
                  ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK), p.C, p.ldc, buffers, otherwise,
                  workspace);
  if constexpr (SUMS == Sums::WORKSPACE)
    launch(add_kernel<T, BM, BN, SPLIT>, tile_grid(tiles_m * S::UNITS, tiles_n),
           dim3(S::CONSUMERS * WARPGROUP), 0, p.stream, p.M, p.N, p.C, p.ldc, workspace);
}

// What the launcher chooses among.
template <class T>
struct Configuration {
  int BM, BN, split;
  int (*buffers)(int blocks);  // with so many blocks on a multiprocessor
  void (*launch)(const Gemm<T, T>&, int buffers, Otherwise);
};
template <class T, int BM, int BN, int SPLIT>
constexpr Configuration<T> configuration() {
  constexpr Sums SUMS = SPLIT == 1 ? Sums::ALONE : Sums::SENT;
  return {BM, BN, SPLIT, buffers_of<T, BM, BN, SPLIT>,
          launch_configuration<T, BM, BN, SPLIT, SUMS>};
}
template <class T>
inline constexpr Configuration<T> CONFIGURATIONS[] = {
    configuration<T, 8, 64, 1>(),   configuration<T, 8, 64, 2>(),   configuration<T, 8, 64, 4>(),
    configuration<T, 8, 64, 8>(),   configuration<T, 8, 128, 1>(),  configuration<T, 8, 128, 2>(),
    configuration<T, 16, 64, 1>(),  configuration<T, 16, 64, 2>(),  configuration<T, 16, 64, 4>(),
    configuration<T, 16, 64, 8>(),  configuration<T, 16, 128, 1>(), configuration<T, 16, 128, 2>(),
    configuration<T, 32, 64, 1>(),  configuration<T, 32, 64, 2>(),  configuration<T, 32, 64, 4>(),
    configuration<T, 32, 64, 8>(),  configuration<T, 32, 128, 1>(), configuration<T, 32, 128, 2>(),
    configuration<T, 56, 64, 1>(),  configuration<T, 56, 64, 2>(),  configuration<T, 64, 64, 1>(),
    configuration<T, 64, 64, 2>(),  configuration<T, 64, 64, 4>(),  configuration<T, 64, 64, 8>(),
    configuration<T, 64, 128, 1>(), configuration<T, 64, 128, 2>(), configuration<T, 104, 64, 1>(),
    configuration<T, 104, 64, 2>(), configuration<T, 104, 64, 4>(), configuration<T, 104, 128, 1>(),
    configuration<T, 128, 64, 1>(), configuration<T, 128, 64, 2>(), configuration<T, 128, 64, 4>(),
    configuration<T, 128, 64, 8>(), configuration<T, 128, 128, 1>()};
// Blocks on a multiprocessor that are worth a try.
inline constexpr int BLOCKS[] = {1, 2, 3};

// "rows_16_columns_64_split_2_blocks_1".
template <class T>
std::string name_of(const Configuration<T>& c, int blocks) {
  return "rows_" + std::to_string(c.BM) + "_columns_" + std::to_string(c.BN) + "_split_" +
         std::to_string(c.split) + "_blocks_" + std::to_string(blocks);
}
template <class T>
void gemm_as(const Configuration<T>& c, const Gemm<T, T>& p, int blocks) {
  c.launch(p, c.buffers(blocks), {});
}

// Tiles of a wave, one block on a multiprocessor: clusters of more than two do not fill a GPU, for
// each is within one group of 16 or 18 multiprocessors, or of fewer (H200: 66 of 2, 30 of 4, 15 of
// 8).
inline int fitting(int split) {
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  return std::max(1, (split <= 2 ? multiprocessors : multiprocessors * 10 / 11) / split);
}
template <class T>
struct Choice {
  const Configuration<T>* configuration;
  int blocks;
};
// A first choice: the fewest bytes that come to a multiprocessor one after the other. Where there
// is more than one wave, several smaller blocks share a multiprocessor, so that the next begins
// while others still read.
template <class T>
Choice<T> chosen(const Gemm<T, T>& p) {
  Choice<T> best{};
  double least = 0;
  for (const Configuration<T>& c : CONFIGURATIONS<T>) {
    const double waves = static_cast<double>(ceil_div(p.M, c.BM)) * ceil_div(p.N, c.BN) /
                         static_cast<double>(fitting(c.split));
    const int blocks = waves <= 1 ? 1 : c.buffers(3) >= 4 ? 3 : c.buffers(2) >= 4 ? 2 : 1;
    const double rounds = waves <= 1 ? 1 : blocks == 1 ? std::ceil(waves) : waves + 1.0 / blocks;
    const double bytes = rounds * ceil_div(ceil_div(p.K, BK), c.split) * (c.BM + c.BN);
    if (best.configuration != nullptr && bytes >= least) continue;
    best = {&c, blocks};
    least = bytes;
  }
  return best;
}

template <class T>
void gemm(const Gemm<T, T>& p) {
  const Choice<T> choice = chosen(p);
  gemm_as(*choice.configuration, p, choice.blocks);
}

// Variants, each with tiles of 16 x 64.
template <int SPLIT, Sums SUMS>
void gemm_16x64(const Gemm<half, half>& p) {
  launch_configuration<half, 16, 64, SPLIT, SUMS>(p, buffers_of<half, 16, 64, SPLIT>(1), {});
}
inline void gemm_k_in_a_row(const Gemm<half, half>& p) {
  launch_configuration<half, 16, 64, 2, Sums::SENT>(p, buffers_of<half, 16, 64, 2>(1),
                                                    {true, false});
}
inline void gemm_barriers_first(const Gemm<half, half>& p) {
  launch_configuration<half, 16, 64, 2, Sums::SENT>(p, buffers_of<half, 16, 64, 2>(1),
                                                    {false, true});
}

#endif  // __CUDACC_RTC__

}  // namespace ladder::few_rows
