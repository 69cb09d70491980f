#pragma once
// In which order a rank takes the tiles of all ranks' rows.
#include "../launch.cuh"
#include "ranks.cuh"

namespace ladder {

// A tile of the rows of one rank: row m0 of these, column n0.
struct RankTile {
  int turn;  // 0 for the rank whose rows come first, 1 for the next
  int rank;
  int m0, n0;
};

// Tile `number`: first all tiles of rank `first`'s rows, then those of the next rank's. Within a
// rank's rows they are numbered as in block_order.cuh, in bands that are `group` tiles high.
template <int BM, int BN>
__device__ __forceinline__ RankTile rank_tile(int number, int M, int N, int ranks, int first,
                                              int group) {
  const int tiles_n = ceil_div(N, BN);
  for (int turn = 0;; ++turn) {
    const int rank = (first + turn) % ranks;
    const int tiles_m = ceil_div(share(M, ranks, rank).count, BM);
    if (number < tiles_m * tiles_n || turn == ranks - 1) {
      const int first_m = number / (group * tiles_n) * group;
      const int height = min(group, tiles_m - first_m);
      const int rest = number % (group * tiles_n);
      return {turn, rank, (first_m + rest % height) * BM, rest / height * BN};
    }
    number -= tiles_m * tiles_n;
  }
}

// How many there are.
template <int BM, int BN>
__host__ __device__ inline int rank_tiles(int M, int N, int ranks) {
  int tiles_m = 0;
  for (int rank = 0; rank < ranks; ++rank) tiles_m += ceil_div(share(M, ranks, rank).count, BM);
  return tiles_m * ceil_div(N, BN);
}

}  // namespace ladder
