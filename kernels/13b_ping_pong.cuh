#pragma once
// 13b ping_pong: C[M,N] = A[M,K] * B[K,N], row-major, fp16 or bf16, fp32 accumulate.
// Idea    a tile a warpgroup, in turn: while one stores its tile, the other multiplies its own.
// vs 13   a consumer has all columns of a tile, and every other tile; it begins to multiply when
//         the other has seen all of its operands, and hands its turn on likewise. Tiles are
//         numbered in patches where that helps.
// Limit   what arrives: 32% more from L2 than in 13 at 8192x8192x1024, with tiles half as large.
//         Where the store does not show it is slower than 13: at 5000^3 and 3000^3.
#include <algorithm>
#include <string>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/epilogue.cuh"
#include "parts/no_kernel.cuh"
#include "parts/ring.cuh"
#include "parts/sixteen_bits.cuh"
#include "parts/store_halves.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/cluster.cuh"
#include "ptx/grid_dependency.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::ping_pong {

constexpr int WARPGROUP = 128;
constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int MMA_K = 16;
constexpr int BAND = 2048;  // rows of C in a band of tiles, rounded up as in 13
constexpr int PATCH = 4;    // tiles that a patch of a band is wide
constexpr int BK = 64;
constexpr int BOX = 64;    // columns of a box: 128 bytes; and of C in one wgmma, its m
constexpr int STAGED = 2;  // pieces of C a warpgroup has on their way

// Registers a thread, by role. At the launch all have as many, 168: the largest multiple of 8 with
// which three warpgroups share a multiprocessor's 64 K. The sums of 128x192 alone are 192.
constexpr int LAUNCH_REGISTERS = 64 * 1024 / THREADS / 8 * 8;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <=
              (CONSUMERS + 1) * LAUNCH_REGISTERS);

// Pairs of neighbouring blocks, clusters: with tiles side by side, which have A in common, or one
// below the other, which have B in common; or two of the one and two of the other, four blocks. Or
// none.
enum class Pairs { NONE, SHARE_A, SHARE_B, SHARE_BOTH };
// Blocks of a cluster below and beside each other. Their numbers run along a row of tiles first.
__host__ __device__ constexpr int down_of(Pairs pairs) {
  return pairs == Pairs::SHARE_B || pairs == Pairs::SHARE_BOTH ? 2 : 1;
}
__host__ __device__ constexpr int across_of(Pairs pairs) {
  return pairs == Pairs::SHARE_A || pairs == Pairs::SHARE_BOTH ? 2 : 1;
}
__host__ __device__ constexpr int cluster_of(Pairs pairs) {
  return down_of(pairs) * across_of(pairs);
}

// What the consumers do: each its columns of every tile, or each every other tile. These take turns
// in multiplying, and, in a variant, a turn ends with the store.
enum class Order { TOGETHER, STORES_IN_TURN, IN_TURN };

template <class T, int BM, int BN>
struct Tiles {
  T A[BM][BK];
  T B[BN / BOX][BK][BOX];
};

// Buffers that fit into shared memory beside `rows` of each piece, and the barriers.
template <class T, int BM, int BN>
constexpr int buffers_beside(int rows) {
  constexpr int SHARED_BYTES = 227 * 1024, BARRIERS = 256, MOST = 16;
  const int staged = CONSUMERS * STAGED * rows * BOX * static_cast<int>(sizeof(T));
  return std::min(MOST,
                  (SHARED_BYTES - BARRIERS - staged) / static_cast<int>(sizeof(Tiles<T, BM, BN>)));
}

template <class T, int BM, int BN>
struct Shared {
  // Rows of a piece: the longer, the fewer waits; but not at the price of a buffer.
  static constexpr int PIECE =
      buffers_beside<T, BM, BN>(64) < buffers_beside<T, BM, BN>(32) ? 32 : 64;
  static constexpr int LAST_PIECE = BM - (BM - 1) / PIECE * PIECE;
  static constexpr int PIPE = buffers_beside<T, BM, BN>(PIECE);
  Tiles<T, BM, BN> tiles[PIPE];
  T staged[CONSUMERS][STAGED][PIECE][BOX];  // on their way to C
  uint64_t full[PIPE];                      // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when the consumers of the whole cluster have multiplied it
};

// This block's tile, when its cluster is at tile `index`. Blocks of neighbouring numbers are
// neighbours on the GPU, and what both ask for at once L2 is asked for once. With numbers down a
// column that is B; in a patch it is A, too: a quarter less is asked for (128x128 at
// 4096x11008x4096, H200). So there are patches for tiles of 128 columns and as many rows or more.
// Flat ones have little of A in common; narrow ones are not the fastest in several waves; and in a
// single one to find a tile in a patch takes 0.1 us. Clusters are dealt out to the groups of
// multiprocessors in turn, so that neighbours in number are none.
template <int BM, int BN, Pairs PAIRS>
__device__ __forceinline__ Tile tile_of_block(int index, int M, int N, int tiles_of_C) {
  constexpr int DOWN = down_of(PAIRS), ACROSS = across_of(PAIRS);
  if (PAIRS == Pairs::NONE && BN == 128 && BM >= BN && tiles_of_C > static_cast<int>(gridDim.x))
    return tile_in_patch<BM, BN, ceil_div(BAND, BM), PATCH>(index, M, N);
  Tile tile = tile_of<DOWN * BM, ACROSS * BN, ceil_div(BAND, DOWN * BM)>(index, M, N);
  tile.m0 += blockIdx.x / ACROSS % DOWN * BM;
  tile.n0 += blockIdx.x % ACROSS * BN;
  return tile;
}

// The producer's start, of one lane. It prepares each buffer's `full` and at once starts the copies
// of the first `early` steps, one barrier after the other. All are for this block alone: the other
// blocks of its cluster need not have any barriers yet.
template <class T, int BM, int BN>
__device__ __forceinline__ void start(Shared<T, BM, BN>& s, const CUtensorMap& map_A,
                                      const CUtensorMap& map_B, Tile tile, int early) {
  if (!ptx::elect_one()) return;
#pragma unroll
  for (int t = 0; t < Shared<T, BM, BN>::PIPE; ++t) {
    ptx::mbarrier_init(&s.full[t], 1);
    ptx::fence_mbarrier_init();  // TMA sees it, too
    if (t >= early) continue;
    ptx::mbarrier_arrive_expect_tx(&s.full[t], sizeof s.tiles[t]);
    ptx::tma_load(s.tiles[t].A, &map_A, t * BK, tile.m0, &s.full[t]);
    for (int j = 0; j < BN / BOX; ++j)
      ptx::tma_load(s.tiles[t].B[j], &map_B, tile.n0 + j * BOX, t * BK, &s.full[t]);
  }
}

// The producer, a warp: fills every buffer as soon as it is empty, from step t0 of the tile on.
// `step` counts the tiles of operands since the start: they go to buffer step % PIPE, in its round
// step / PIPE. One lane orders the copies. It is elected: ptxas knows that instruction, and has
// what TMA is told in uniform registers, one for the warp; in a branch of lane 0 it would have to
// move it there.
template <Pairs PAIRS, class T, int BM, int BN>
__device__ __forceinline__ void produce(Shared<T, BM, BN>& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, Tile tile, int t0, int tiles,
                                        bool backwards, unsigned& step) {
  constexpr int PIPE = Shared<T, BM, BN>::PIPE, DOWN = down_of(PAIRS), ACROSS = across_of(PAIRS);
  const unsigned down = blockIdx.x / ACROSS % DOWN, across = blockIdx.x % ACROSS;
  for (int t = t0; t < tiles; ++t, ++step) {
    const unsigned to = step % PIPE;
    // Nobody in the cluster may still read what lies there. The first time round nobody does: the
    // phase before the first, of parity 1, counts as complete.
    ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
    if (!ptx::elect_one()) continue;
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    const int k0 = (backwards ? tiles - 1 - t : t) * BK;
    // What a pair shares its blocks bring in turn, each for both.
    if (ACROSS == 1)
      ptx::tma_load(s.tiles[to].A, &map_A, k0, tile.m0, &s.full[to]);
    else if (step % 2 == across)
      ptx::tma_load_multicast(s.tiles[to].A, &map_A, k0, tile.m0, &s.full[to], 3 << ACROSS * down);
    for (int j = 0; j < BN / BOX; ++j)
      if (DOWN == 1)
        ptx::tma_load(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, k0, &s.full[to]);
      else if (step % 2 == down)
        ptx::tma_load_multicast(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, k0, &s.full[to],
                                (1 | 1 << ACROSS) << across);
  }
}

// The consumers' turns, of which one comes to barrier FIRST_TURN + g of the block to say that it is
// consumer g's. It is no matter of the tensor cores alone: a consumer that waited for its operands
// while the other one is at the tile before would take a round of the ring for the one after the
// next, for both have the same parity. A named barrier, as both know how many threads come to it
// and nobody has to ask again.
constexpr int FIRST_TURN = 1 + CONSUMERS;  // behind the barriers of each consumer's own
__device__ __forceinline__ void wait_for_turn(int group) {
  ptx::named_barrier_sync(FIRST_TURN + group, CONSUMERS * WARPGROUP);
}
__device__ __forceinline__ void hand_turn_on(int group) {
  ptx::named_barrier_arrive(FIRST_TURN + 1 - group, CONSUMERS * WARPGROUP);
}

// A consumer, a warpgroup: multiplies its boxes of every tile of B, and all of A, as soon as they
// have landed. acc[w] is transposed: 64 columns of C by BM rows. Calls `all_seen` when all have
// landed and the last of them are still multiplied.
template <int CLUSTER, class T, int BM, int BN, int BOXES, class AllSeen>
__device__ __forceinline__ void consume(Shared<T, BM, BN>& s, int tiles, int first_box,
                                        float (&acc)[BOXES][BM / 2], unsigned& step,
                                        const AllSeen& all_seen) {
  constexpr int PIPE = Shared<T, BM, BN>::PIPE;
  // The buffer of a tile goes back to the producers of the whole cluster.
  const auto release = [&](unsigned buffer) {
    if (threadIdx.x % WARPGROUP < CLUSTER)
      ptx::mbarrier_arrive_cluster(&s.empty[buffer], threadIdx.x % WARPGROUP);
  };
  const auto& first = s.tiles[0];
  const uint64_t first_a = descriptor_a(first.A, 0, 0),
                 first_b = descriptor_b(first.B, 0, first_box);
  Ring ring = {PIPE, step % PIPE, step / PIPE % 2};
  unsigned before = 0;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t, ring.next()) {
    // A round of a buffer's barrier is over when the tile has landed.
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const uint64_t a = further(first_a, ring.buffer * sizeof first),
                   b = further(first_b, ring.buffer * sizeof first);
    ptx::wgmma_fence();  // what was done to acc before comes first
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
        ptx::wgmma_m64k16_f32<T, ptx::Major::MN, ptx::Major::K>(
            acc[w], further(b, w * sizeof first.B[0] + k * sizeof first.B[0][0]),
            further(a, k * sizeof(T)), t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release(before);
    before = ring.buffer;
  }
  step += tiles;
  all_seen();
  ptx::wgmma_wait_group<0>();
  release(before);
}

// The rows from `row0` on of a warp's 16 columns of C, which it has as columns of `acc`: turned, to
// the rows of a piece. A stmatrix turns 8 rows by 16 columns, or two of these.
template <int BM, int PIECE, class T>
__device__ __forceinline__ void stage_piece(T (*staged)[BOX], const float (&acc)[BM / 2], int row0,
                                            int warp, int lane) {
  const int col = warp * 16 + lane / 8 % 2 * 8;
#pragma unroll
  for (int row = 0; row < PIECE && row0 + row < BM; row += 16) {
    const float* const a = &acc[(row0 + row) / 2];
    const uint32_t upper[2] = {as_pair<T>(a[0], a[1]), as_pair<T>(a[2], a[3])};
    if (row0 + row + 8 < BM) {
      const uint32_t both[4] = {upper[0], upper[1], as_pair<T>(a[4], a[5]), as_pair<T>(a[6], a[7])};
      ptx::stmatrix_x4_trans(&staged[row + lane / 16 * 8 + lane % 8][swizzled(lane, col)], both);
    } else {
      ptx::stmatrix_x2_trans(&staged[row + lane % 8][swizzled(lane, col)], upper);
    }
  }
}

template <class T, int BM, int BN, Pairs PAIRS, Order ORDER, class Finish>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C,
                const __grid_constant__ CUtensorMap map_C_last, T* C, int64_t ldc,
                const Finish finish) {
  constexpr int CLUSTER = cluster_of(PAIRS), PIECE = Shared<T, BM, BN>::PIECE;
  constexpr int USERS = ORDER == Order::TOGETHER ? CONSUMERS : 1;  // consumers of a tile
  Shared<T, BM, BN>& s = dynamic_shared<Shared<T, BM, BN>>();
  const int tiles = ceil_div(K, BK);

  constexpr int PIPE = Shared<T, BM, BN>::PIPE;
  const bool is_producer = warp_of_block() == CONSUMERS * WARPGROUP / 32;
  // All buffers are filled before any thread waits for another; in a cluster two, for a copy that
  // is not shared asks more of L2.
  const int early = min(tiles, CLUSTER == 1 ? PIPE : 2);

  ptx::let_next_grid_start();    // without Gemm::starts_early these two do nothing
  ptx::wait_for_grids_before();  // from here on, matrices are read and written
  if (is_producer)
    start(s, map_A, map_B, tile_of_block<BM, BN, PAIRS>(blockIdx.x / CLUSTER, M, N, tiles_of_C),
          early);
  if (threadIdx.x == 0) {  // meanwhile, the other barriers
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CLUSTER * USERS);
    ptx::fence_mbarrier_init();  // the other blocks of the cluster see them, too
  }
  if (CLUSTER == 1) {
    __syncthreads();
  } else {
    // Orders nothing but barriers. To wait until all that has been written is seen, as
    // cluster_arrive does, takes 0.2 us.
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (is_producer) {
      // Every other tile of C from the end of K: it is mostly in the band of those before, and what
      // they have read last of the band's rows of A is still in L2.
      bool backwards = false;
      int t0 = step = early;
      for (int index = blockIdx.x / CLUSTER; index < tiles_of_C; index += gridDim.x / CLUSTER) {
        const Tile tile = tile_of_block<BM, BN, PAIRS>(index, M, N, tiles_of_C);
        produce<PAIRS>(s, map_A, map_B, tile, t0, tiles, backwards, step);
        backwards = !backwards;
        t0 = 0;
      }
      // No block may leave before the others have sent it their last arrivals.
      if (CLUSTER > 1)
        for (int i = 0; i < PIPE; ++i, ++step)
          ptx::mbarrier_wait_parity(&s.empty[step % PIPE], (step / PIPE + 1) % 2);
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    const int group = warpgroup_of_block();
    const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
    const bool sends = threadIdx.x % WARPGROUP == 0;
    unsigned piece = 0;
    int turn = 0;
    const int clusters = gridDim.x / CLUSTER;
    for (int index = blockIdx.x / CLUSTER; index < tiles_of_C; index += clusters, ++turn) {
      if (USERS == 1 && turn % CONSUMERS != group) {  // the other's
        step += tiles;
        continue;
      }
      const Tile tile = tile_of_block<BM, BN, PAIRS>(index, M, N, tiles_of_C);
      constexpr int BOXES = BN / BOX / USERS;
      const int first_box = USERS == 1 ? 0 : group * BOXES;
      const bool is_last = index + clusters >= tiles_of_C;
      typename Finish::Columns columns[BOXES];
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
        columns[w] = finish.columns(tile.m0, tile.n0 + (first_box + w) * BOX + warp * 16, N, lane);
      float acc[BOXES][BM / 2];
      if (USERS == 1 && turn > 0) wait_for_turn(group);
      consume<CLUSTER>(s, tiles, first_box, acc, step, [&] {
        if (ORDER == Order::IN_TURN && !is_last) hand_turn_on(group);
      });

      // To C by way of shared memory, box by box, in pieces: each warp turns its 16 columns of a
      // piece, and one thread sends all of it.
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
#pragma unroll
        for (int row0 = 0; row0 < BM; row0 += PIECE, ++piece) {
          finish.template piece<PIECE>(&acc[w][row0 / 2], row0, BM - row0, columns[w], tile.m0,
                                       tile.n0 + (first_box + w) * BOX + warp * 16, M, N, lane);
          T(*const staged)[BOX] = s.staged[group][piece % STAGED];
          // The piece that was here before is on its way; of the others, one may still wait.
          if (sends) ptx::bulk_wait_group_read<STAGED - 1>();
          ptx::named_barrier_sync(1 + group, WARPGROUP);  // for all four warps' rows of it
          stage_piece<BM, PIECE>(staged, acc[w], row0, warp, lane);
          ptx::fence_proxy_async();                       // TMA sees what this lane has written
          ptx::named_barrier_sync(1 + group, WARPGROUP);  // and all lanes have
          const int m = tile.m0 + row0, n = tile.n0 + (first_box + w) * BOX;
          if (n + BOX > N && N % 8 != 0)  // TMA would write past the end of a row
            for (int row = warp * 8; row < PIECE && row0 + row < BM; row += WARPGROUP / 32 * 8)
              store_staged<8>(&staged[row], C, ldc, m + row, n, M, N, lane);
          else if (sends)
            ptx::tma_store(row0 + PIECE <= BM ? &map_C : &map_C_last, n, m, staged[0]);
          // A group for each piece, an empty one for what the warps have stored: the wait above
          // counts them.
          if (sends) ptx::bulk_commit_group();
        }
      if (ORDER == Order::STORES_IN_TURN && !is_last) hand_turn_on(group);
    }
    if (sends) ptx::bulk_wait_group_read<0>();  // the last pieces are still read
  }
}

#ifndef __CUDACC_RTC__
// What the launcher chooses among: tiles, and pairs.
template <class T>
struct Configuration {
  int BM, BN;
  Pairs pairs;
  void (*launch)(const Gemm<T, T>&, int tiles_of_C, int clusters);
};

// Throws CudaError where there is no TMA.
template <class T, int BM, int BN, Pairs PAIRS, Order ORDER, class Finish>
void launch_and_finish(const Gemm<T, T>& p, int tiles_of_C, int clusters, const Finish& finish) {
  constexpr int CLUSTER = cluster_of(PAIRS);
  launch_clusters(CLUSTER, gemm_kernel<T, BM, BN, PAIRS, ORDER, Finish>, dim3(clusters * CLUSTER),
                  dim3(THREADS), sizeof(Shared<T, BM, BN>), {p.stream, p.starts_early}, p.M, p.N,
                  p.K, tiles_of_C, ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
                  ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared<T, BM, BN>::PIECE),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared<T, BM, BN>::LAST_PIECE), p.C, p.ldc,
                  finish);
}
template <class T, int BM, int BN, Pairs PAIRS, Order ORDER>
void launch_configuration(const Gemm<T, T>& p, int tiles_of_C, int clusters) {
  launch_and_finish<T, BM, BN, PAIRS, ORDER>(p, tiles_of_C, clusters, ProductAlone{});
}
// Together each warpgroup needs a box of 64 columns: of 64 there is no such kernel.
template <class T, Order ORDER, int BM, int BN, Pairs PAIRS = Pairs::NONE>
constexpr Configuration<T> configuration() {
  if constexpr (ORDER == Order::TOGETHER && BN / BOX % CONSUMERS != 0)
    return {BM, BN, PAIRS, nullptr};
  else
    return {BM, BN, PAIRS, launch_configuration<T, BM, BN, PAIRS, ORDER>};
}
template <class T, Order O>
inline constexpr Configuration<T> CONFIGURATIONS_OF[] = {
    configuration<T, O, 32, 64>(),
    configuration<T, O, 56, 64>(),
    configuration<T, O, 64, 64>(),
    configuration<T, O, 72, 64>(),
    configuration<T, O, 104, 64>(),
    configuration<T, O, 128, 64>(),
    configuration<T, O, 64, 128>(),
    configuration<T, O, 96, 128>(),
    configuration<T, O, 104, 128>(),
    configuration<T, O, 128, 128>(),
    configuration<T, O, 144, 128>(),
    configuration<T, O, 152, 128>(),
    configuration<T, O, 160, 128>(),
    configuration<T, O, 168, 128>(),
    configuration<T, O, 176, 128>(),
    configuration<T, O, 128, 192>(),
    configuration<T, O, 64, 64, Pairs::SHARE_A>(),
    configuration<T, O, 128, 128, Pairs::SHARE_A>(),
    configuration<T, O, 152, 128, Pairs::SHARE_A>(),
    configuration<T, O, 160, 128, Pairs::SHARE_A>(),
    configuration<T, O, 64, 64, Pairs::SHARE_B>(),
    configuration<T, O, 128, 128, Pairs::SHARE_B>(),
    configuration<T, O, 152, 128, Pairs::SHARE_B>()};
template <class T>
inline constexpr const auto& CONFIGURATIONS = CONFIGURATIONS_OF<T, Order::IN_TURN>;

// "152x128", "152x128_share_a".
template <class T>
std::string name(const Configuration<T>& c) {
  constexpr const char* SHARED_BY[] = {"", "_share_a", "_share_b", "_share_both"};
  return std::to_string(c.BM) + "x" + std::to_string(c.BN) + SHARED_BY[static_cast<int>(c.pairs)];
}

// Of C, one a cluster.
template <class T>
int tiles(const Gemm<T, T>& p, const Configuration<T>& c) {
  return ceil_div(p.M, down_of(c.pairs) * c.BM) * ceil_div(p.N, across_of(c.pairs) * c.BN);
}
// Clusters that fit at once. Of four blocks, each within one group of 16 or 18 multiprocessors, or
// of fewer, not all multiprocessors hold one (H200: 30).
template <class T>
int fitting(const Configuration<T>& c) {
  const int blocks = device_attribute(cudaDevAttrMultiProcessorCount);
  return (cluster_of(c.pairs) <= 2 ? blocks : blocks * 10 / 11) / cluster_of(c.pairs);
}
// Rounds of one tile for each of them.
template <class T>
int waves(const Gemm<T, T>& p, const Configuration<T>& c) {
  return ceil_div(tiles(p, c), fitting(c));
}

template <class T>
void gemm_as(const Configuration<T>& c, const Gemm<T, T>& p) {
  if (done_without_kernel(p)) return;
  // No more blocks than it takes to be done in as many waves.
  c.launch(p, tiles(p, c), ceil_div(tiles(p, c), waves(p, c)));
}

// What all steps along K of a wave take, in no unit: products, and rows and columns that arrive.
// (On an H200 it is about a nanosecond a step.)
template <class T>
double cost(const Gemm<T, T>& p, const Configuration<T>& c) {
  return waves(p, c) * (9.16e-3 * c.BM * c.BN + 0.976 * (c.BM + c.BN));
}

template <Order ORDER, class T>
const Configuration<T>& chosen(const Gemm<T, T>& p) {
  // Where rows begin off the lines of 128 bytes, 64 halves, fewer requests of neighbours are
  // merged, and pairs pay; but not with few rows.
  const bool pairs = p.ldb % 64 != 0 && p.M > 512;
  const Configuration<T>* first = nullptr;  // to be done
  for (const Configuration<T>& c : CONFIGURATIONS_OF<T, ORDER>) {
    const bool allowed = c.launch && (c.pairs != Pairs::NONE) == pairs;
    if (allowed && (!first || cost(p, c) < cost(p, *first))) first = &c;
  }
  return *first;
}

template <Order ORDER, class T>
void gemm_in_order(const Gemm<T, T>& p) {
  if (!done_without_kernel(p)) gemm_as(chosen<ORDER>(p), p);
}
template <class T>
void gemm(const Gemm<T, T>& p) {
  gemm_in_order<Order::IN_TURN>(p);
}

#endif  // __CUDACC_RTC__

}  // namespace ladder::ping_pong
