#pragma once
// 21 grouped: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out; many of them
// of different M in one launch, each with a B of its own: the experts of a mixture, or a batch.
// Idea    one loop goes over the tiles of all groups, numbered group after group: waves fill up
//         across groups, and nothing is launched or drained in between. Where the groups end is
//         read by the kernel, from device memory.
// vs 13   Walk, which finds the group of a tile; a third coordinate for B's boxes; a piece of C in
//         which the group ends is stored by its warps; the choice of the tile for all groups, or
//         for the mean one, by 13's measured times; without pairs and without an epilogue.
// Limit   one height of tiles for all groups: a group's last tile is multiplied whole.
#include <algorithm>

#include "13_fit_the_waves.cuh"
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/configurations.cuh"
#include "parts/epilogue.cuh"
#include "parts/no_kernel.cuh"
#include "parts/operand.cuh"
#include "parts/store_pieces.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::grouped {

using namespace fit_the_waves;  // 13 is where most of it is

// A block's way through the tiles of all groups, which are numbered group after group. It only
// goes forwards, and so looks at each group once. Without ends all groups have as many rows, and it
// need not look at those between. Ends that only the device knows nobody has checked: behind row M
// nothing may be stored, nor before row 0.
template <int BM, int BN>
struct Walk {
  const int* ends;
  int groups, M, N;
  // Of the group: its rows, the number of its first tile, and how many it has.
  int group = -1, begin = 0, end = 0, first = 0, tiles = 0;

  // To tile `index`, which is not before the last one. Whether there is such a tile.
  __device__ __forceinline__ bool reach(int index) {
    while (index >= first + tiles && ++group < groups) {
      const int passed = ends || tiles == 0 ? 0 : (index - first) / tiles - 1;  // all alike
      group += passed, first += tiles + passed * tiles, begin = end + passed * (M / groups);
      end = ends ? max(begin, min(ends[group], M)) : begin + M / groups;
      tiles = ceil_div(end - begin, BM) * ceil_div(N, BN);
    }
    return group < groups;
  }
  __device__ __forceinline__ Tile tile(int index) const {
    Tile tile = tile_of_block<BM, BN, Pairs::NONE>(index - first, end - begin, N, BM);
    tile.m0 += begin;
    return tile;
  }
};

// C down to the end of a group.
struct PiecesOfGroup : PiecesOfC<half> {
  // TMA would write rows of the next group, too.
  __device__ __forceinline__ bool is_cut(int end_m, int n) const {
    return end_m > M || PiecesOfC<half>::is_cut(end_m, n);
  }
};

// The producer's tiles, as in 13. A box of A may have rows of the next group, of which nothing is
// stored; one of B has zeros behind the last row of its own matrix.
template <class Shared, int BM, int BN>
__device__ __forceinline__ void produce_all(Shared& s, const Sources& from, int tiles, int early,
                                            Walk<BM, BN>& walk) {
  bool backwards = false;
  int t0 = early;
  unsigned step = early;
  for (int index = blockIdx.x; walk.reach(index); index += gridDim.x) {
    produce<Pairs::NONE>(s, from, walk.tile(index), t0, tiles, backwards, step, walk.group);
    backwards = !backwards;
    t0 = 0;
  }
}

template <int BM, int BN>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const int* ends, int groups, int M, int N, int K,
                const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C,
                const __grid_constant__ CUtensorMap map_C_last, half* C, int64_t ldc) {
  using Shared = fit_the_waves::Shared<half, BM, BN>;
  constexpr int CLUSTER = 1, rows = BM;
  Shared& s = dynamic_shared<Shared>();
  const int tiles = ceil_div(K, BK);
  const Sources from{map_A, map_B, Shared::bytes(rows)};
  const bool is_producer = warp_of_block() == CONSUMERS * WARPGROUP / 32;
  const int early = min(tiles, Shared::PIPE);
  Walk<BM, BN> walk{ends, max(1, groups), M, N};

  if (!walk.reach(blockIdx.x)) return;  // there are more blocks than tiles
  if (is_producer) start(s, from, walk.tile(blockIdx.x), early, walk.group);
  prepare_others<CLUSTER>(s, CONSUMERS);

  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (is_producer) produce_all(s, from, tiles, early, walk);
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    constexpr int BOXES = BN / BOX / CONSUMERS;
    const int first_box = warpgroup_of_block() * BOXES;
    const ProductAlone finish;
    const ProductAlone::Columns columns[BOXES] = {};
    unsigned step = 0, piece = 0;
    for (int index = blockIdx.x; walk.reach(index); index += gridDim.x) {
      const Tile tile = walk.tile(index);
      const int n0 = tile.n0 + first_box * BOX;
      const PiecesOfGroup to{{map_C, map_C_last, C, ldc, walk.end, N, rows}};
      float acc[BOXES][BM / 2];
      const unsigned last = multiply<CLUSTER>(s, tiles, first_box, acc, step);
      ptx::wgmma_wait_group<0>();
      release<CLUSTER>(s, last);
      store_transposed(s.staged, acc, columns, finish, to, tile.m0, n0, piece);
    }
    if (threadIdx.x % WARPGROUP == 0) ptx::bulk_wait_group_read<0>();  // the last are still read
  }
}

// What the launcher chooses among: tiles, one kind for all groups. On an H200 13's kernel takes
// `step` ns for a step along K of a wave, and `tile` more for a tile (tuned/h200.h, where the waves
// are not the first).
struct Configuration : Tiling {
  double step, tile;
  void (*launch)(const Gemm<half, half>&, int blocks);
};

// Throws CudaError where there is no TMA.
template <int BM, int BN>
void launch_configuration(const Gemm<half, half>& p, int blocks) {
  using Shared = fit_the_waves::Shared<half, BM, BN>;
  launch(gemm_kernel<BM, BN>, dim3(blocks), dim3(THREADS), sizeof(Shared), p.stream, p.groups.ends,
         p.groups.count, p.M, p.N, p.K, Operand<half, BM, Major::K>::map(p.A, p.M, p.K, p.lda),
         ptx::tensor_map_of_several(p.B, std::max(1, p.groups.count), p.K, p.N, p.ldb, BK),
         ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared::PIECE),
         ptx::tensor_map(p.C, p.M, p.N, p.ldc, last_piece(BM, Shared::PIECE)), p.C, p.ldc);
}
template <int BM, int BN>
constexpr Configuration configuration(double step = 1, double tile = 0) {
  return {{BM, BN}, step, tile, launch_configuration<BM, BN>};
}
// Some of 13's.
inline constexpr Configuration CONFIGURATIONS[] = {
    configuration<64, 128>(232.1, 399),   configuration<96, 128>(290.6, 545),
    configuration<128, 128>(340.3, 568),  configuration<64, 256>(342.4, 1090),
    configuration<88, 256>(469.8, 1154),  configuration<104, 256>(543.1, 1154),
    configuration<120, 256>(617.6, 1198), configuration<128, 256>(660.5, 1255),
    configuration<136, 256>(690.2, 2404), configuration<152, 256>(774.0, 2272),
    configuration<160, 256>(813.6, 2467), configuration<176, 256>(890.5, 1778)};

// Of all groups; where only the device knows their ends, as if all had the mean number of rows.
inline int tiles(const Gemm<half, half>& p, const Configuration& c) {
  const int count = std::max(1, p.groups.count), mean = ceil_div(p.M, count);
  int high = 0;  // tiles below each other
  for (int g = 0; g < count; ++g)
    high += ceil_div(
        p.groups.are_known_on_host() && p.groups.count > 0 ? product_of_group(p, g).M : mean, c.BM);
  return high * ceil_div(p.N, c.BN);
}

inline void gemm_as(const Configuration& c, const Gemm<half, half>& p) {
  if (done_without_kernel_of_groups(p)) return;
  // No more blocks than it takes to be done in as many waves; all, where these are not known.
  c.launch(
      p, !p.groups.are_known_on_host() ? clusters_at_once(1) : ceil_div(tiles(p, c), waves(p, c)));
}

// What all waves take, in ns on an H200, where memory is not what takes the time.
inline double cost(const Gemm<half, half>& p, const Configuration& c) {
  return waves(p, c) * (ceil_div(p.K, BK) * c.step + c.tile);
}

inline void gemm(const Gemm<half, half>& p) {
  if (!done_without_kernel_of_groups(p)) gemm_as(first_done(CONFIGURATIONS, p), p);
}

}  // namespace ladder::grouped
