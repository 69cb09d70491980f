#pragma once
// 13 fit_the_waves: C[M,N] = A[M,K] * B[K,N], row-major, fp16 or bf16, fp32 accumulate.
// Idea    the product transposed, C^T = B^T * A^T: B's columns are wgmma's m, 64 of them, and A's
//         rows are its n, any multiple of 8. So a tile may have 144 or 152 or 160 rows, and there
//         is a height with which the tiles come out at just under a whole number of waves.
// vs 11b  the kernel for any tile of 8i rows by 128 or 256 columns; sums that stmatrix turns back,
//         in pieces that a warpgroup stages together (parts/store_pieces.cuh); pairs of blocks that
//         share A, B or both; the choice of the tile, and no more blocks than are done in as many
//         waves, both as in 11c; A's rows shared evenly among tiles below each other; copies that
//         start before any thread waits for another; no barrier at the end; a warpgroup number that
//         ptxas sees as one for a warp; fp16 or bf16, as T.
// Step    a tile of any height is useless without the choice of it.
// Limit   the clock, where the waves are full: at 8192 the tensor pipe is busy in 94% of all. With
//         few steps along K the tiles' stores, during which nothing is multiplied: 13b.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/configurations.cuh"
#include "parts/epilogue.cuh"
#include "parts/no_kernel.cuh"
#include "parts/operand.cuh"
#include "parts/ring.cuh"
#include "parts/store_pieces.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/cluster.cuh"
#include "ptx/grid_dependency.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"
#ifndef __CUDACC_RTC__
  #include "parts/even_rows.h"
#endif

namespace ladder::fit_the_waves {

using ptx::Major;

constexpr int WARPGROUP = 128;
constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int MMA_K = 16;
constexpr int BK = 64;
constexpr int BOX = 64;    // columns of a box: 128 bytes; and of C in one wgmma, its m
constexpr int STAGED = 2;  // pieces of C a warpgroup has on their way

// Tiles that a band is high, which has about 2048 rows of C. Rounded up, for C often has a multiple
// of those, and a last band of one row of tiles would read all of B again. Where C is narrow, a
// wave of large tiles has about a thousand rows whatever the band, and low bands are better: at
// 4096 L2 is asked for 15% less (256x128, H200).
template <int BM, int BN, int DOWN>
__host__ __device__ constexpr int band_height(int N) {
  return N <= 5000 && BM * BN >= 104 * 256 ? 512 / (DOWN * BM) : ceil_div(2048, DOWN * BM);
}

// Registers a thread, by role. At the launch all have as many, 168: the largest multiple of 8 with
// which three warpgroups share a multiprocessor's 64 K. The sums of 176x256 alone are 176.
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

// The forms are those of matrices by rows; 18 has the others.
template <class T, int BM, int BN, Major MAJOR_A, Major MAJOR_B>
struct Tiles {
  Operand<T, BM, MAJOR_A> A;
  Operand<T, BN, MAJOR_B> B;
};

// Buffers that fit into shared memory beside `rows` of each piece, and the barriers.
template <class Tiles>
constexpr int buffers_beside(int rows) {
  constexpr int SHARED_BYTES = 227 * 1024, BARRIERS = 256, MOST = 16;
  const int staged = CONSUMERS * STAGED * rows * BOX * static_cast<int>(sizeof(half));
  return std::min(MOST, (SHARED_BYTES - BARRIERS - staged) / static_cast<int>(sizeof(Tiles)));
}

template <class T, int BM, int BN, Major MAJOR_A = Major::K, Major MAJOR_B = Major::MN>
struct Shared {
  using Tiles = fit_the_waves::Tiles<T, BM, BN, MAJOR_A, MAJOR_B>;
  // Rows of a piece: the longer, the fewer waits; but not at the price of a buffer.
  static constexpr int PIECE = buffers_beside<Tiles>(64) < buffers_beside<Tiles>(32) ? 32 : 64;
  static constexpr int PIPE = buffers_beside<Tiles>(PIECE);
  Tiles tiles[PIPE];
  T staged[CONSUMERS][STAGED][PIECE][BOX];  // on their way to C
  uint64_t full[PIPE];                      // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when the consumers of the whole cluster have multiplied it

  // That a step brings, of a tile that has `rows` of A.
  __host__ __device__ static constexpr uint32_t bytes(int rows) {
    return decltype(Tiles::A)::bytes(rows) + sizeof Tiles::B;
  }
};

// This block's tile, when its cluster is at tile `index`.
template <int BM, int BN, Pairs PAIRS>
__device__ __forceinline__ Tile tile_of_block(int index, int M, int N, int rows) {
  constexpr int DOWN = down_of(PAIRS), ACROSS = across_of(PAIRS);
  Tile tile = tile_of<DOWN * BM, ACROSS * BN>(index, M, N, band_height<BM, BN, DOWN>(N));
  tile.m0 = (tile.m0 / BM + blockIdx.x / ACROSS % DOWN) * rows;
  tile.n0 += blockIdx.x % ACROSS * BN;
  return tile;
}

// What the producer reads, and how much of it a step of a tile is.
struct Sources {
  const CUtensorMap &map_A, &map_B;
  uint32_t bytes;
};

// The producer's start, of one lane. It prepares each buffer's `full` and at once starts the copies
// of the first `early` steps, one barrier after the other. All are for this block alone: the other
// blocks of its cluster need not have any barriers yet. `matrix` is nothing, and in 21, where there
// are several B's, the number of one.
template <class Shared, class... Matrix>
__device__ __forceinline__ void start(Shared& s, const Sources& from, Tile tile, int early,
                                      Matrix... matrix) {
  if (!ptx::elect_one()) return;
#pragma unroll
  for (int t = 0; t < Shared::PIPE; ++t) {
    ptx::mbarrier_init(&s.full[t], 1);
    ptx::fence_mbarrier_init();  // TMA sees it, too
    if (t >= early) continue;
    ptx::mbarrier_arrive_expect_tx(&s.full[t], from.bytes);
    s.tiles[t].A.load(from.map_A, tile.m0, t * BK, &s.full[t]);
    s.tiles[t].B.load(from.map_B, tile.n0, t * BK, &s.full[t], matrix...);
  }
}

// wgmma reads BM rows of A, and no copy brings those from `rows` on.
template <class Shared>
__device__ __forceinline__ void clear_below(Shared& s, int rows) {
  for (auto& tiles : s.tiles) tiles.A.clear_below(rows, threadIdx.x, blockDim.x);
  ptx::fence_proxy_async();  // wgmma sees it
  __syncthreads();           // of all threads: a cluster's barrier, below, orders no writes
}

// The barriers that `users` consumers of each block arrive at; and no thread passes before all
// barriers of the cluster are there.
template <int CLUSTER, class Shared>
__device__ __forceinline__ void prepare_others(Shared& s, int users) {
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CLUSTER * users);
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
}

// The producer, a warp: fills every buffer as soon as it is empty, from step t0 of the tile on.
// `step` counts the tiles of operands since the start: they go to buffer step % PIPE, in its round
// step / PIPE. One lane orders the copies. It is elected: ptxas knows that instruction, and has
// what TMA is told in uniform registers, one for the warp; in a branch of lane 0 it would have to
// move it there.
template <Pairs PAIRS, class Shared, class... Matrix>
__device__ __forceinline__ void produce(Shared& s, const Sources& from, Tile tile, int t0,
                                        int tiles, bool backwards, unsigned& step,
                                        Matrix... matrix) {
  constexpr int PIPE = Shared::PIPE, DOWN = down_of(PAIRS), ACROSS = across_of(PAIRS);
  const unsigned down = blockIdx.x / ACROSS % DOWN, across = blockIdx.x % ACROSS;
  for (int t = t0; t < tiles; ++t, ++step) {
    const unsigned to = step % PIPE;
    // Nobody in the cluster may still read what lies there. The first time round nobody does: the
    // phase before the first, of parity 1, counts as complete.
    ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
    if (!ptx::elect_one()) continue;
    ptx::mbarrier_arrive_expect_tx(&s.full[to], from.bytes);
    const int k0 = (backwards ? tiles - 1 - t : t) * BK;
    // What a pair shares its blocks bring in turn, each for both.
    if (ACROSS == 1)
      s.tiles[to].A.load(from.map_A, tile.m0, k0, &s.full[to]);
    else if (step % 2 == across)
      s.tiles[to].A.load_to(3 << ACROSS * down, from.map_A, tile.m0, k0, &s.full[to]);
    if (DOWN == 1)
      s.tiles[to].B.load(from.map_B, tile.n0, k0, &s.full[to], matrix...);
    else if (step % 2 == down)
      s.tiles[to].B.load_to((1 | 1 << ACROSS) << across, from.map_B, tile.n0, k0, &s.full[to]);
  }
}

// And all tiles of this block, of which `early` steps are on their way. `tile_at(index)` is this
// block's tile when its cluster is at tile `index`.
template <Pairs PAIRS, class Shared, class TileAt>
__device__ __forceinline__ void produce_all(Shared& s, const Sources& from, int tiles,
                                            int tiles_of_C, int early, const TileAt& tile_at) {
  constexpr int PIPE = Shared::PIPE, CLUSTER = cluster_of(PAIRS);
  // Every other tile of C from the end of K: it is mostly in the band of those before, and what
  // they have read last of the band's rows of A is still in L2.
  bool backwards = false;
  int t0 = early;
  unsigned step = early;
  for (int index = blockIdx.x / CLUSTER; index < tiles_of_C; index += gridDim.x / CLUSTER) {
    produce<PAIRS>(s, from, tile_at(index), t0, tiles, backwards, step);
    backwards = !backwards;
    t0 = 0;
  }
  // No block may leave before the others have sent it their last arrivals.
  if (CLUSTER > 1)
    for (int i = 0; i < PIPE; ++i, ++step)
      ptx::mbarrier_wait_parity(&s.empty[step % PIPE], (step / PIPE + 1) % 2);
}

// The buffer of a tile goes back to the producers of the whole cluster.
template <int CLUSTER, class Shared>
__device__ __forceinline__ void release(Shared& s, unsigned buffer) {
  if (threadIdx.x % WARPGROUP < CLUSTER)
    ptx::mbarrier_arrive_cluster(&s.empty[buffer], threadIdx.x % WARPGROUP);
}

// A consumer, a warpgroup: multiplies its boxes of every tile of B, and all of A, as soon as they
// have landed. acc[w] is transposed: 64 columns of C by BM rows. Returns the last buffer, of which
// the products are still under way.
template <int CLUSTER, class T, int BM, int BN, Major MAJOR_A, Major MAJOR_B, int BOXES>
__device__ __forceinline__ unsigned multiply(Shared<T, BM, BN, MAJOR_A, MAJOR_B>& s, int tiles,
                                             int first_box, float (&acc)[BOXES][BM / 2],
                                             unsigned& step) {
  constexpr int PIPE = Shared<T, BM, BN, MAJOR_A, MAJOR_B>::PIPE;
  const auto& first = s.tiles[0];
  const uint64_t first_a = first.A.descriptor(0, 0),
                 first_b = first.B.descriptor(first_box * BOX, 0);
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
        ptx::wgmma_m64k16_f32<T, MAJOR_B, MAJOR_A>(acc[w], further(b, first.B.bytes_to(w * BOX, k)),
                                                   further(a, first.A.bytes_to(0, k)),
                                                   t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release<CLUSTER>(s, before);
    before = ring.buffer;
  }
  step += tiles;
  return before;
}

template <class T, int BM, int BN, Pairs PAIRS, Major MAJOR_A, Major MAJOR_B, class Finish>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, int rows, int tiles_of_C,
                const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C,
                const __grid_constant__ CUtensorMap map_C_last, T* C, int64_t ldc,
                const Finish finish) {
  using Shared = fit_the_waves::Shared<T, BM, BN, MAJOR_A, MAJOR_B>;
  constexpr int CLUSTER = cluster_of(PAIRS);
  Shared& s = dynamic_shared<Shared>();
  const int tiles = ceil_div(K, BK);
  const auto tile_at = [&](int index) { return tile_of_block<BM, BN, PAIRS>(index, M, N, rows); };
  const Sources from{map_A, map_B, Shared::bytes(rows)};
  const bool is_producer = warp_of_block() == CONSUMERS * WARPGROUP / 32;
  // All buffers are filled before any thread waits for another; in a cluster two, for a copy that
  // is not shared asks more of L2.
  const int early = min(tiles, CLUSTER == 1 ? Shared::PIPE : 2);

  ptx::let_next_grid_start();    // without Gemm::starts_early these two do nothing
  ptx::wait_for_grids_before();  // from here on, matrices are read and written
  if (is_producer) start(s, from, tile_at(blockIdx.x / CLUSTER), early);
  if (rows < BM) clear_below(s, rows);
  prepare_others<CLUSTER>(s, CONSUMERS);

  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (is_producer) produce_all<PAIRS>(s, from, tiles, tiles_of_C, early, tile_at);
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    constexpr int BOXES = BN / BOX / CONSUMERS;
    const int first_box = warpgroup_of_block() * BOXES;
    const int warp = threadIdx.x % WARPGROUP / 32;
    const PiecesOfC<T> to{map_C, map_C_last, C, ldc, M, N, rows};
    unsigned step = 0, piece = 0;
    for (int index = blockIdx.x / CLUSTER; index < tiles_of_C; index += gridDim.x / CLUSTER) {
      const Tile tile = tile_at(index);
      const int n0 = tile.n0 + first_box * BOX;
      typename Finish::Columns columns[BOXES];  // on their way, while operands are
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
        columns[w] = finish.columns(tile.m0, n0 + w * BOX + warp * 16, N, threadIdx.x % 32);
      float acc[BOXES][BM / 2];
      const unsigned last = multiply<CLUSTER>(s, tiles, first_box, acc, step);
      ptx::wgmma_wait_group<0>();
      release<CLUSTER>(s, last);
      store_transposed(s.staged, acc, columns, finish, to, tile.m0, n0, piece);
    }
    if (threadIdx.x % WARPGROUP == 0) ptx::bulk_wait_group_read<0>();  // the last are still read
  }
}

#ifndef __CUDACC_RTC__
// What a kernel is compiled for: of C, what a block computes at a time, and pairs.
struct Tiling {
  int BM, BN;
  Pairs pairs = Pairs::NONE;
};
// And what the launcher chooses among.
template <class T>
struct Configuration : Tiling {
  void (*launch)(const Gemm<T, T>&, int tiles_of_C, int clusters);
};

// Of A in a tile: as many in all. Of an A by columns BM, in boxes of 64, which begin on lines.
template <int BM, Pairs PAIRS, Major MAJOR_A>
int rows_of_tile(int M) {
  return MAJOR_A == Major::K ? even_rows(M, BM, down_of(PAIRS)) : BM;
}

// Throws CudaError where there is no TMA. 13b has a kernel of its own with the same parameters.
template <class T, int BM, int BN, Pairs PAIRS, Major MAJOR_A, Major MAJOR_B, class Kernel,
          class Finish>
void launch_kernel(Kernel kernel, const Gemm<T, T>& p, int rows, int tiles_of_C, int clusters,
                   const Finish& finish) {
  using Shared = fit_the_waves::Shared<T, BM, BN, MAJOR_A, MAJOR_B>;
  constexpr int CLUSTER = cluster_of(PAIRS);
  launch_clusters(CLUSTER, kernel, dim3(clusters * CLUSTER), dim3(THREADS), sizeof(Shared),
                  {p.stream, p.starts_early}, p.M, p.N, p.K, rows, tiles_of_C,
                  Operand<T, BM, MAJOR_A>::map(p.A, p.M, p.K, p.lda, rows),
                  Operand<T, BN, MAJOR_B>::map(p.B, p.N, p.K, p.ldb),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared::PIECE),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, last_piece(rows, Shared::PIECE)), p.C,
                  p.ldc, finish);
}
template <class T, int BM, int BN, Pairs PAIRS, Major MAJOR_A = Major::K, Major MAJOR_B = Major::MN,
          class Finish>
void launch_and_finish(const Gemm<T, T>& p, int tiles_of_C, int clusters, const Finish& finish) {
  launch_kernel<T, BM, BN, PAIRS, MAJOR_A, MAJOR_B>(
      gemm_kernel<T, BM, BN, PAIRS, MAJOR_A, MAJOR_B, Finish>, p,
      rows_of_tile<BM, PAIRS, MAJOR_A>(p.M), tiles_of_C, clusters, finish);
}
template <class T, int BM, int BN, Pairs PAIRS>
void launch_configuration(const Gemm<T, T>& p, int tiles_of_C, int clusters) {
  launch_and_finish<T, BM, BN, PAIRS>(p, tiles_of_C, clusters, ProductAlone{});
}
template <class T, int BM, int BN, Pairs PAIRS = Pairs::NONE>
constexpr Configuration<T> configuration() {
  return {{BM, BN, PAIRS}, launch_configuration<T, BM, BN, PAIRS>};
}
inline constexpr Tiling TILINGS[] = {
    // clang-format off
    {64, 128}, {72, 128}, {96, 128}, {104, 128}, {128, 128}, {144, 128}, {192, 128}, {208, 128},
    {256, 128},
    {64, 256}, {72, 256}, {104, 256}, {128, 256}, {144, 256}, {152, 256}, {160, 256}, {168, 256},
    {176, 256}, {192, 256},

    {64, 128, Pairs::SHARE_A}, {128, 128, Pairs::SHARE_A}, {128, 256, Pairs::SHARE_A},
    {144, 256, Pairs::SHARE_A}, {152, 256, Pairs::SHARE_A}, {160, 256, Pairs::SHARE_A},

    {64, 128, Pairs::SHARE_B}, {128, 128, Pairs::SHARE_B}, {256, 128, Pairs::SHARE_B},
    {128, 256, Pairs::SHARE_B}, {144, 256, Pairs::SHARE_B}, {152, 256, Pairs::SHARE_B},

    {64, 128, Pairs::SHARE_BOTH}, {72, 128, Pairs::SHARE_BOTH}, {96, 128, Pairs::SHARE_BOTH}};
// clang-format on
template <class T, size_t... I>
constexpr std::array<Configuration<T>, sizeof...(I)> configurations(std::index_sequence<I...>) {
  return {configuration<T, TILINGS[I].BM, TILINGS[I].BN, TILINGS[I].pairs>()...};
}
template <class T>
inline constexpr auto CONFIGURATIONS =
    configurations<T>(std::make_index_sequence<std::size(TILINGS)>());

// "152x256", "152x256_share_a".
inline std::string name(const Tiling& c) {
  constexpr const char* SHARED_BY[] = {"", "_share_a", "_share_b", "_share_both"};
  return std::to_string(c.BM) + "x" + std::to_string(c.BN) + SHARED_BY[static_cast<int>(c.pairs)];
}

// Of C, one a cluster.
template <class T>
int tiles(const Gemm<T, T>& p, const Tiling& c) {
  return ceil_div(p.M, down_of(c.pairs) * c.BM) * ceil_div(p.N, across_of(c.pairs) * c.BN);
}
// Rounds of one tile for each of the clusters that run at the same time.
template <class T, class AnyTiling>
int waves(const Gemm<T, T>& p, const AnyTiling& c) {
  return ceil_div(tiles(p, c), clusters_at_once(cluster_of(c.pairs)));
}

template <class T>
void gemm_as(const Configuration<T>& c, const Gemm<T, T>& p) {
  if (!done_without_kernel(p)) launch_in_waves(c, p);
}

// What a step along K takes in all waves, in ns: products, and rows and columns that arrive. By
// these two numbers 128x256 and 128x128 take as long as 11c's table says (H200).
template <class T>
double cost(const Gemm<T, T>& p, const Tiling& c) {
  return waves(p, c) * (9.16e-3 * c.BM * c.BN + 0.976 * (c.BM + c.BN));
}

// Where rows begin off the lines of 128 bytes, 64 halves, fewer requests of neighbours are merged,
// and pairs pay; but not with few rows.
template <class T>
bool pairs_pay(const Gemm<T, T>& p) {
  return p.ldb % 64 != 0 && p.M > 512;
}

// A variant leaves out one part of the choice.
enum class LeftOut { NOTHING, HEIGHTS, PAIRS };

template <LeftOut LEFT_OUT, class T>
const Configuration<T>& chosen(const Gemm<T, T>& p) {
  const bool pairs = LEFT_OUT != LeftOut::PAIRS && pairs_pay(p);
  return first_done(CONFIGURATIONS<T>, p, [&](const Configuration<T>& c) {
    return (c.pairs != Pairs::NONE) == pairs && (LEFT_OUT != LeftOut::HEIGHTS || c.BM % 64 == 0);
  });
}

// Always 128x256, as 11b, but transposed.
template <class T>
void gemm_128x256(const Gemm<T, T>& p) {
  gemm_as(configuration<T, 128, 256>(), p);
}
// Always 64x128, and all tiles but the last have all 64 rows.
template <class T>
void gemm_uneven(const Gemm<T, T>& p) {
  const auto launch_uneven = [](const Gemm<T, T>& p, int tiles_of_C, int blocks) {
    launch_kernel<T, 64, 128, Pairs::NONE, Major::K, Major::MN>(
        gemm_kernel<T, 64, 128, Pairs::NONE, Major::K, Major::MN, ProductAlone>, p, 64, tiles_of_C,
        blocks, ProductAlone{});
  };
  gemm_as(Configuration<T>{{64, 128}, launch_uneven}, p);
}
template <LeftOut LEFT_OUT, class T>
void gemm_without(const Gemm<T, T>& p) {
  if (!done_without_kernel(p)) gemm_as(chosen<LEFT_OUT>(p), p);
}
template <class T>
void gemm(const Gemm<T, T>& p) {
  gemm_without<LeftOut::NOTHING>(p);
}

#endif  // __CUDACC_RTC__

}  // namespace ladder::fit_the_waves
