#pragma once
// 13b ping_pong: C[M,N] = A[M,K] * B[K,N], row-major, fp16 or bf16, fp32 accumulate.
// Idea    a tile a warpgroup, in turn: while one stores its tile, the other multiplies its own.
// vs 13   a consumer has all columns of a tile, and every other tile; it begins to multiply when
//         the other has seen all of its operands, and hands its turn on likewise. Tiles are
//         numbered in patches where that helps.
// Limit   what arrives: 32% more from L2 than in 13 at 8192x8192x1024, with tiles half as large.
//         Where the store does not show it is slower than 13: at 5000^3 and 3000^3.
#include <array>
#include <utility>

#include "13_fit_the_waves.cuh"
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/configurations.cuh"
#include "parts/epilogue.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_pieces.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/grid_dependency.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::ping_pong {

using namespace fit_the_waves;  // 13 is where most of it is

constexpr int BAND = 2048;  // rows of C in a band of tiles, rounded up as in 13
constexpr int PATCH = 4;    // tiles that a patch of a band is wide

// What the consumers do: each its columns of every tile, or each every other tile. These take turns
// in multiplying, and, in a variant, a turn ends with the store.
enum class Order { TOGETHER, STORES_IN_TURN, IN_TURN };

// This block's tile, when its cluster is at tile `index`. Blocks of neighbouring numbers are
// neighbours on the GPU, and what both ask for at once L2 is asked for once. With numbers down a
// column that is B; in a patch it is A, too: a quarter less is asked for (128x128 at
// 4096x11008x4096, H200). So there are patches for tiles of 128 columns and as many rows or more.
// Flat ones have little of A in common; narrow ones are not the fastest in several waves; and in a
// single one to find a tile in a patch takes 0.1 us. Clusters are dealt out to the groups of
// multiprocessors in turn, so that neighbours in number are none.
template <int BM, int BN, Pairs PAIRS>
__device__ __forceinline__ Tile tile_of_block(int index, int M, int N, int rows, int tiles_of_C) {
  constexpr int DOWN = down_of(PAIRS), ACROSS = across_of(PAIRS);
  const bool in_patch =
      PAIRS == Pairs::NONE && BN == 128 && BM >= BN && tiles_of_C > static_cast<int>(gridDim.x);
  Tile tile = in_patch ? tile_in_patch<BM, BN, ceil_div(BAND, BM), PATCH>(index, M, N)
                       : tile_of<DOWN * BM, ACROSS * BN, ceil_div(BAND, DOWN * BM)>(index, M, N);
  tile.m0 = (tile.m0 / BM + blockIdx.x / ACROSS % DOWN) * rows;
  tile.n0 += blockIdx.x % ACROSS * BN;
  return tile;
}

// The consumers' turns, of which one comes to barrier FIRST_TURN + g of the block to say that it is
// consumer g's. It is not only about the tensor cores: a consumer that waited for its operands
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

template <class T, int BM, int BN, Pairs PAIRS, Order ORDER, Major MAJOR_A, Major MAJOR_B,
          class Finish>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, int rows, int tiles_of_C,
                const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C,
                const __grid_constant__ CUtensorMap map_C_last, T* C, int64_t ldc,
                const Finish finish) {
  using Shared = fit_the_waves::Shared<T, BM, BN, MAJOR_A, MAJOR_B>;
  constexpr int CLUSTER = cluster_of(PAIRS);
  constexpr int USERS = ORDER == Order::TOGETHER ? CONSUMERS : 1;  // consumers of a tile
  Shared& s = dynamic_shared<Shared>();
  const int tiles = ceil_div(K, BK);
  const auto tile_at = [&](int index) {
    return tile_of_block<BM, BN, PAIRS>(index, M, N, rows, tiles_of_C);
  };
  const Sources from{map_A, map_B, Shared::bytes(rows)};
  const bool is_producer = warp_of_block() == CONSUMERS * WARPGROUP / 32;
  const int early = min(tiles, CLUSTER == 1 ? Shared::PIPE : 2);

  ptx::let_next_grid_start();    // without Gemm::starts_early these two do nothing
  ptx::wait_for_grids_before();  // from here on, matrices are read and written
  if (is_producer) start(s, from, tile_at(blockIdx.x / CLUSTER), early);
  if (rows < BM) clear_below(s, rows);
  prepare_others<CLUSTER>(s, USERS);

  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (is_producer) produce_all<PAIRS>(s, from, tiles, tiles_of_C, early, tile_at);
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    constexpr int BOXES = BN / BOX / USERS;
    const int group = warpgroup_of_block(), warp = threadIdx.x % WARPGROUP / 32;
    const int first_box = USERS == 1 ? 0 : group * BOXES;
    const PiecesOfC<T> to{map_C, map_C_last, C, ldc, M, N, rows};
    unsigned step = 0, piece = 0;
    int turn = 0;
    const int clusters = gridDim.x / CLUSTER;
    for (int index = blockIdx.x / CLUSTER; index < tiles_of_C; index += clusters, ++turn) {
      if (USERS == 1 && turn % CONSUMERS != group) {  // the other's
        step += tiles;
        continue;
      }
      const Tile tile = tile_at(index);
      const int n0 = tile.n0 + first_box * BOX;
      const bool is_last = index + clusters >= tiles_of_C;
      typename Finish::Columns columns[BOXES];
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
        columns[w] = finish.columns(tile.m0, n0 + w * BOX + warp * 16, N, threadIdx.x % 32);
      float acc[BOXES][BM / 2];
      if (USERS == 1 && turn > 0) wait_for_turn(group);
      const unsigned last = multiply<CLUSTER>(s, tiles, first_box, acc, step);
      if (ORDER == Order::IN_TURN && !is_last) hand_turn_on(group);  // all operands have landed
      ptx::wgmma_wait_group<0>();
      release<CLUSTER>(s, last);
      store_transposed(s.staged, acc, columns, finish, to, tile.m0, n0, piece);
      if (ORDER == Order::STORES_IN_TURN && !is_last) hand_turn_on(group);
    }
    if (threadIdx.x % WARPGROUP == 0) ptx::bulk_wait_group_read<0>();  // the last are still read
  }
}

#ifndef __CUDACC_RTC__
// Throws CudaError where there is no TMA.
template <class T, int BM, int BN, Pairs PAIRS, Order ORDER, Major MAJOR_A = Major::K,
          Major MAJOR_B = Major::MN, class Finish>
void launch_and_finish(const Gemm<T, T>& p, int tiles_of_C, int clusters, const Finish& finish) {
  launch_kernel<T, BM, BN, PAIRS, MAJOR_A, MAJOR_B>(
      gemm_kernel<T, BM, BN, PAIRS, ORDER, MAJOR_A, MAJOR_B, Finish>, p,
      rows_of_tile<BM, PAIRS, MAJOR_A>(p.M), tiles_of_C, clusters, finish);
}
template <class T, int BM, int BN, Pairs PAIRS, Order ORDER>
void launch_configuration(const Gemm<T, T>& p, int tiles_of_C, int clusters) {
  launch_and_finish<T, BM, BN, PAIRS, ORDER>(p, tiles_of_C, clusters, ProductAlone{});
}
// Together each warpgroup needs a box of 64 columns: of 64 there is no such kernel.
template <class T, Order ORDER, int BM, int BN, Pairs PAIRS = Pairs::NONE>
constexpr Configuration<T> configuration() {
  if constexpr (ORDER == Order::TOGETHER && BN / BOX % CONSUMERS != 0)
    return {{BM, BN, PAIRS}, nullptr};
  else
    return {{BM, BN, PAIRS}, launch_configuration<T, BM, BN, PAIRS, ORDER>};
}
inline constexpr Tiling TILINGS[] = {
    // clang-format off
    {32, 64}, {56, 64}, {64, 64}, {72, 64}, {104, 64}, {128, 64},
    {64, 128}, {96, 128}, {104, 128}, {128, 128}, {144, 128}, {152, 128}, {160, 128}, {168, 128},
    {176, 128},
    {128, 192},

    {64, 64, Pairs::SHARE_A}, {128, 128, Pairs::SHARE_A}, {152, 128, Pairs::SHARE_A},
    {160, 128, Pairs::SHARE_A},

    {64, 64, Pairs::SHARE_B}, {128, 128, Pairs::SHARE_B}, {152, 128, Pairs::SHARE_B}};
// clang-format on
template <class T, Order ORDER, size_t... I>
constexpr std::array<Configuration<T>, sizeof...(I)> configurations(std::index_sequence<I...>) {
  return {configuration<T, ORDER, TILINGS[I].BM, TILINGS[I].BN, TILINGS[I].pairs>()...};
}
template <class T, Order ORDER>
inline constexpr auto CONFIGURATIONS_OF =
    configurations<T, ORDER>(std::make_index_sequence<std::size(TILINGS)>());
template <class T>
inline constexpr const auto& CONFIGURATIONS = CONFIGURATIONS_OF<T, Order::IN_TURN>;

template <Order ORDER, class T>
const Configuration<T>& chosen(const Gemm<T, T>& p) {
  return first_done(CONFIGURATIONS_OF<T, ORDER>, p, [&](const Configuration<T>& c) {
    return c.launch && (c.pairs != Pairs::NONE) == pairs_pay(p);
  });
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
