#pragma once
// 14 few_rows: C[M,N] = A[M,K] * B[K,N], row-major, fp16 or bf16, fp32 accumulate.
// Idea    with few rows, C has fewer tiles than the GPU has multiprocessors, and B is read once and
//         for nothing else: a cluster divides one tile's K, so that all of them read. Its blocks
//         add their sums through each other's shared memory: no workspace, no second kernel.
// vs 13   one tile a cluster; each block has every SPLIT-th step along K, and its share of the rows
//         to add up and to store; st.async brings the sums to their owner, those of a large tile to
//         where the operands were. One warpgroup for 64 columns. The lanes store C. A table of
//         configurations, and a first choice.
// Step    no loop over tiles of C and none of its way to C is left.
// Limit   device memory, 4.5 TB/s for 7.4 of 13.3 us; nothing launched takes 3.5 of the rest (H200,
//         16x4096x4096).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/configurations.cuh"
#include "parts/epilogue.cuh"
#include "parts/no_kernel.cuh"
#include "parts/operand.cuh"
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

using ptx::Major;

constexpr int WARPGROUP = 128;
constexpr int MMA_K = 16;
constexpr int BK = 64;
constexpr int BOX = 64;  // columns of a box: 128 bytes; wgmma's m, for the product is transposed
constexpr int UNIT = 8;  // rows of C that have one owner
constexpr int MOST_BUFFERS = 32;

// What a step multiplies for a tile of BM rows and BN columns of C. B's form is that of a matrix by
// rows; the library has linear layers, whose B is by columns.
template <class T, int ROWS, int COLUMNS, Major MAJOR_B>
struct Tiles {
  static constexpr int BM = ROWS, BN = COLUMNS, BK = few_rows::BK;
  static constexpr int EMPTIED_BY = 1;  // arrivals of a warpgroup that has multiplied
  static constexpr int BAND = 0;        // rows of tiles in a band, or no bands
  using OperandA = Operand<T, BM, Major::K>;
  using OperandB = Operand<T, BN, MAJOR_B>;
  using SourceB = CUtensorMap;                                            // how load() knows B
  static constexpr uint32_t BYTES = sizeof(OperandA) + sizeof(OperandB);  // that load() brings
  OperandB B;
  OperandA A;

  __device__ __forceinline__ void load(const CUtensorMap& map_A, const CUtensorMap& map_B,
                                       Tile tile, int k0, uint64_t* full) {
    B.load(map_B, tile.n0, k0, full);
    A.load(map_A, tile.m0, k0, full);
  }
};

// Of a block in a cluster of SPLIT.
template <class OfStep, int BLOCKS>
struct SharedOf {
  using Tiles = OfStep;
  static constexpr int SPLIT = BLOCKS, BM = Tiles::BM;
  static constexpr int CONSUMERS = Tiles::BN / BOX;  // warpgroups that multiply
  static constexpr int THREADS = CONSUMERS * WARPGROUP + 32;
  static constexpr int UNITS = BM / UNIT;
  // Units that one block adds up, at most; who is alone adds nothing up.
  static constexpr int OWNED = SPLIT == 1 ? 1 : ceil_div(UNITS, SPLIT);
  // Of the units that this block owns: of each block, what every consumer's thread has of it. Of a
  // large tile they have no room beside the buffers, and come to where the last operands were.
  using Sums = float4[OWNED][SPLIT][CONSUMERS * WARPGROUP];
  static constexpr bool OVER_TILES = SPLIT > 1 && BM >= 64 && CONSUMERS > 1;
  float4 beside[OVER_TILES ? 1 : sizeof(Sums) / sizeof(float4)];
  uint64_t full[MOST_BUFFERS];   // completes when a tile has landed
  uint64_t empty[MOST_BUFFERS];  // completes when all consumers have multiplied it
  uint64_t received;             // completes when the sums of all blocks are there
  alignas(1024) Tiles tiles[1];  // and as many more as the launch asks memory for

  __device__ __forceinline__ Sums& sums() {
    if constexpr (OVER_TILES) return reinterpret_cast<Sums&>(tiles);
    return reinterpret_cast<Sums&>(beside);
  }
  static constexpr size_t bytes(int buffers) {
    const size_t of_tiles = static_cast<size_t>(buffers) * sizeof(Tiles);
    return offsetof(SharedOf, tiles) + (OVER_TILES ? std::max(of_tiles, sizeof(Sums)) : of_tiles);
  }
};

template <class T, int BM, int BN, int SPLIT, Major MAJOR_B = Major::MN>
using Shared = SharedOf<Tiles<T, BM, BN, MAJOR_B>, SPLIT>;

// The steps along K of block `rank` of a tile's: every SPLIT-th, so that all blocks of the grid go
// through B from top to bottom together.
struct Steps {
  int first, stride, count;
};
template <int SPLIT, int BK = few_rows::BK>
__device__ __forceinline__ Steps steps_of(int rank, int K) {
  return {rank, SPLIT, (ceil_div(K, BK) - rank + SPLIT - 1) / SPLIT};
}

// Starts the copies of a step's tiles to a buffer.
template <class Shared, class SourceB>
__device__ __forceinline__ void load(Shared& s, const CUtensorMap& map_A, const SourceB& from_B,
                                     Tile tile, Steps steps, int t, int buffer) {
  auto& to = s.tiles[buffer];
  uint64_t* const full = &s.full[buffer];
  ptx::mbarrier_arrive_expect_tx(full, to.BYTES);
  to.load(map_A, from_B, tile, (steps.first + t * steps.stride) * to.BK, full);
}

// The producer, a warp, of which an elected lane orders the copies (see 13). First it fills all
// buffers, of which it prepares each barrier just before it is needed: to prepare all of them first
// takes 0.4 us more (H200, 16x4096x4096).
template <class Shared, class SourceB>
__device__ __forceinline__ void fill(Shared& s, const CUtensorMap& map_A, const SourceB& from_B,
                                     Tile tile, Steps steps, int buffers) {
#pragma unroll 1
  for (int t = 0; t < min(buffers, steps.count); ++t) {
    if (!ptx::elect_one()) continue;
    ptx::mbarrier_init(&s.full[t], 1);
    ptx::fence_mbarrier_init();  // TMA sees it, too
    load(s, map_A, from_B, tile, steps, t, t);
  }
}
// Then it fills every buffer as soon as it is empty.
template <class Shared, class SourceB>
__device__ __forceinline__ void refill(Shared& s, const CUtensorMap& map_A, const SourceB& from_B,
                                       Tile tile, Steps steps, Ring ring) {
#pragma unroll 1
  for (int t = ring.buffers; t < steps.count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.empty[ring.buffer], ring.parity);
    if (ptx::elect_one()) load(s, map_A, from_B, tile, steps, t, ring.buffer);
  }
}

// A consumer, a warpgroup: multiplies its 64 columns of every tile as soon as it has landed.
template <class T, int BM, int BN, int SPLIT, Major MAJOR_B>
__device__ __forceinline__ void consume(Shared<T, BM, BN, SPLIT, MAJOR_B>& s, Steps steps,
                                        Ring ring, float (&acc)[BM / 2]) {
  const auto& first = s.tiles[0];
  const uint64_t first_a = first.A.descriptor(0, 0),
                 first_b = first.B.descriptor(warpgroup_of_block() * BOX, 0);
  unsigned before = 0;
#pragma unroll 1
  for (int t = 0; t < steps.count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const uint64_t a = further(first_a, ring.buffer * sizeof first),
                   b = further(first_b, ring.buffer * sizeof first);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
      ptx::wgmma_m64k16_f32<T, MAJOR_B, Major::K>(acc, further(b, first.B.bytes_to(0, k)),
                                                  further(a, first.A.bytes_to(0, k)), true);
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

// A thread's sums of a unit, of those that it has of the tile.
__device__ __forceinline__ float4 part_of(const float* acc, int unit) {
  const float* const a = &acc[unit * UNIT / 2];
  return make_float4(a[0], a[1], a[2], a[3]);
}

template <class S, class T, class Finish>
__global__ void __launch_bounds__(S::THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ typename S::Tiles::SourceB from_B, T* C, int64_t ldc,
                int buffers, const Finish finish) {
  using Tiles = typename S::Tiles;
  constexpr int SPLIT = S::SPLIT, BN = Tiles::BN;
  constexpr bool CLUSTER = SPLIT > 1;
  constexpr int CONSUMER_THREADS = S::CONSUMERS * WARPGROUP;
  S& s = dynamic_shared<S>();
  const int rank = blockIdx.x % SPLIT;
  const int tile_n = tile_column();
  Tile tile = {static_cast<int>(blockIdx.x / SPLIT) * S::BM, tile_n * BN};
  if (tile_n >= ceil_div(N, BN)) return;
  if constexpr (Tiles::BAND > 0)
    tile = tile_of<S::BM, BN, Tiles::BAND>((tile_n * gridDim.x + blockIdx.x) / SPLIT, M, N);
  const Steps steps = steps_of<SPLIT, Tiles::BK>(rank, K);
  const int owned = (S::UNITS - rank + SPLIT - 1) / SPLIT;  // units: every SPLIT-th
  const bool is_producer = warp_of_block() == CONSUMER_THREADS / 32;

  ptx::let_next_grid_start();    // without Gemm::starts_early these two do nothing
  ptx::wait_for_grids_before();  // from here on, matrices are read and written
  if (is_producer) fill(s, map_A, from_B, tile, steps, buffers);
  if (threadIdx.x == 0) {  // meanwhile, the other barriers
    for (int i = 0; i < buffers; ++i)
      ptx::mbarrier_init(&s.empty[i], S::CONSUMERS * Tiles::EMPTIED_BY);
    if (CLUSTER) {
      ptx::mbarrier_init(&s.received, 1);
      ptx::fence_mbarrier_init();  // the other blocks see it, too
      ptx::mbarrier_arrive_expect_tx(&s.received, owned * sizeof s.sums()[0]);
    }
  }
  __syncthreads();  // all barriers are there
  if (CLUSTER && !S::OVER_TILES)
    ptx::cluster_arrive_relaxed();  // and does not wait for the other blocks yet
  if (is_producer) {
    refill(s, map_A, from_B, tile, steps, Ring{static_cast<unsigned>(buffers)});
    if (S::OVER_TILES) ptx::cluster_arrive();
    if (CLUSTER) ptx::cluster_wait();
    return;
  }
  const int warp_n = tile.n0 + threadIdx.x / 32 * 16, lane = threadIdx.x % 32;
  const auto columns = finish.columns(tile.m0, warp_n, N, lane);  // on their way, while B is
  float acc[S::BM / 2] = {};
  consume(s, steps, Ring{static_cast<unsigned>(buffers)}, acc);

  const auto store = [&](int unit, float4 sum) {
    float v[] = {sum.x, sum.y, sum.z, sum.w};
    finish.template piece<UNIT>(v, unit * UNIT, UNIT, columns, tile.m0, warp_n, M, N, lane);
    store_unit(make_float4(v[0], v[1], v[2], v[3]), C, ldc, tile.m0 + unit * UNIT, warp_n, M, N);
  };
  if constexpr (!CLUSTER) {
#pragma unroll
    for (int unit = 0; unit < S::UNITS; ++unit) store(unit, part_of(acc, unit));
  } else {
    // Nothing reads this block's operands any more.
    if (S::OVER_TILES) ptx::cluster_arrive();
    ptx::cluster_wait();  // the other blocks' barriers are there
#pragma unroll
    for (int unit = 0; unit < S::UNITS; ++unit)
      ptx::store_async(&s.sums()[unit / SPLIT][rank][threadIdx.x], part_of(acc, unit), &s.received,
                       unit % SPLIT);
    // Who owns nothing may leave: nobody sends to it.
    if (owned > 0) ptx::mbarrier_wait_parity_cluster(&s.received, 0);
    for (int i = 0; i < owned; ++i)
      store(rank + i * SPLIT,
            added<SPLIT>([&](int from) { return s.sums()[i][from][threadIdx.x]; }));
  }
}

// A multiprocessor's shared memory, of which a block has 1 KB less than its share. A block that has
// it alone leaves some: with more on their way all bytes take longer (128x14336x4096, H200: 32.1 us
// with five buffers of 32 KB, and 33.8 with six). Not so with large tiles, which wait for products.
constexpr size_t MULTIPROCESSOR_BYTES = 228 * 1024, RESERVED_BYTES = 1024;
constexpr size_t MOST_BYTES = 182 * 1024;

// As many buffers as `blocks` blocks on a multiprocessor leave each other.
template <class S>
constexpr int buffers_of(int blocks) {
  const size_t share = MULTIPROCESSOR_BYTES / blocks - RESERVED_BYTES;
  const size_t bytes = S::OVER_TILES ? share : std::min(share, MOST_BYTES);
  int buffers = 0;
  while (buffers < MOST_BUFFERS && S::bytes(buffers + 1) <= bytes) ++buffers;
  return buffers;
}

#ifndef __CUDACC_RTC__
// With `blocks` blocks on a multiprocessor. Throws CudaError where there is no TMA.
template <class T, int BM, int BN, int SPLIT, Major MAJOR_B = Major::MN, class Finish>
void launch_and_finish(const Gemm<T, T>& p, int blocks, const Finish& finish) {
  using Tiles = Tiles<T, BM, BN, MAJOR_B>;
  using S = SharedOf<Tiles, SPLIT>;
  const int buffers = buffers_of<S>(blocks);
  launch_clusters(SPLIT, gemm_kernel<S, T, Finish>,
                  tile_grid(ceil_div(p.M, BM) * SPLIT, ceil_div(p.N, BN)), dim3(S::THREADS),
                  S::bytes(buffers), {p.stream, p.starts_early}, p.M, p.N, p.K,
                  Tiles::OperandA::map(p.A, p.M, p.K, p.lda),
                  Tiles::OperandB::map(p.B, p.N, p.K, p.ldb), p.C, p.ldc, buffers, finish);
}

// What the launcher chooses among.
template <class T>
struct Configuration {
  int BM, BN, split;
  int (*buffers)(int blocks);
  void (*launch)(const Gemm<T, T>&, int blocks);
};
template <class T, int BM, int BN, int SPLIT>
void launch_configuration(const Gemm<T, T>& p, int blocks) {
  if (!done_without_kernel(p)) launch_and_finish<T, BM, BN, SPLIT>(p, blocks, ProductAlone{});
}
template <class T, int BM, int BN, int SPLIT>
constexpr Configuration<T> configuration() {
  return {BM, BN, SPLIT, buffers_of<Shared<T, BM, BN, SPLIT>>,
          launch_configuration<T, BM, BN, SPLIT>};
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
  c.launch(p, blocks);
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
                         static_cast<double>(clusters_at_once(c.split));
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

// Always tiles of 16 x 64, each of one block or of several; partial_sums.cuh has more variants.
template <int SPLIT>
void gemm_16x64(const Gemm<half, half>& p) {
  gemm_as(configuration<half, 16, 64, SPLIT>(), p, 1);
}

#endif  // __CUDACC_RTC__

}  // namespace ladder::few_rows
