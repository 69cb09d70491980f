#pragma once
// Which tile of C a block computes. Blocks that run at the same time should share rows of A and
// columns of B in L2: tiles are numbered down the columns of a band of some tiles' height, then the
// next band.
#include "../launch.cuh"

namespace ladder {

// The tile's first row and column in C.
struct Tile {
  int m0, n0;
};

// Of tile `number` of a C that is divided into BMxBN tiles, in bands `group` tiles high. It keeps
// its type: a division of blockIdx.x, which is unsigned, is shorter than one of an int.
template <int BM, int BN, class Number>
__device__ __forceinline__ Tile tile_of(Number number, int M, int N, int group) {
  const int tiles_m = ceil_div(M, BM), tiles_n = ceil_div(N, BN);
  const int first_m = number / (group * tiles_n) * group;
  const int height = min(group, tiles_m - first_m);
  const int rest = number % (group * tiles_n);
  return {(first_m + rest % height) * BM, rest / height * BN};
}
template <int BM, int BN, int GROUP, class Number>
__device__ __forceinline__ Tile tile_of(Number number, int M, int N) {
  return tile_of<BM, BN>(number, M, N, GROUP);
}

// The same with the tiles of a band numbered in patches, ACROSS columns wide: row by row down the
// patch, then the next one. Tiles of neighbouring numbers then share rows of A, and not only
// columns of B.
template <int BM, int BN, int GROUP, int ACROSS>
__device__ __forceinline__ Tile tile_in_patch(int number, int M, int N) {
  const int tiles_m = ceil_div(M, BM), tiles_n = ceil_div(N, BN);
  const int first_m = number / (GROUP * tiles_n) * GROUP;
  const int height = min(GROUP, tiles_m - first_m);
  const int in_band = number % (GROUP * tiles_n);
  const int first_n = in_band / (height * ACROSS) * ACROSS;
  const int width = min(ACROSS, tiles_n - first_n);
  const int in_patch = in_band - height * first_n;
  return {(first_m + in_patch / width) * BM, (first_n + in_patch % width) * BN};
}

}  // namespace ladder
