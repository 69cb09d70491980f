#pragma once
// Which tile of C a block computes. Blocks that run at the same time should share rows of A and
// columns of B in L2: tiles are numbered down the columns of a band that is GROUP tiles high, then
// the next band.
#include "../launch.cuh"

namespace ladder {

// The tile's first row and column in C.
struct Tile {
  int m0, n0;
};

// Of tile `number` of a C that is divided into BMxBN tiles. It keeps its type: a division of
// blockIdx.x, which is unsigned, is shorter than one of an int.
template <int BM, int BN, int GROUP, class Number>
__device__ __forceinline__ Tile tile_of(Number number, int M, int N) {
  const int tiles_m = ceil_div(M, BM), tiles_n = ceil_div(N, BN);
  const int first_m = number / (GROUP * tiles_n) * GROUP;
  const int height = min(GROUP, tiles_m - first_m);
  const int rest = number % (GROUP * tiles_n);
  return {(first_m + rest % height) * BM, rest / height * BN};
}

}  // namespace ladder
