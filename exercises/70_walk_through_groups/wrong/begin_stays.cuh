// refused: wrong result: C
// Every group begins at row 0.
#include "exercise.h"

constexpr int BM = 32, BN = 64;  // of a tile; as many threads

// Groups have rows that follow each other: group g ends before row ends[g], where g + 1 begins.
struct Groups {
  int count;
  const int* ends;
  int N;  // columns of each
};

// A block's way through the tiles of all groups.
struct Walk {
  int group = -1, begin = 0, end = 0;  // where it is; its rows
  int first = 0, tiles = 0;            // the number of its first tile, and how many it has
};

// Goes on to the group that has tile `index`. Whether there is such a tile.
static __device__ bool reach(Walk& walk, const Groups& groups, int index) {
  while (index >= walk.first + walk.tiles) {
    if (++walk.group == groups.count) return false;
    walk.first += walk.tiles;
    walk.end = groups.ends[walk.group];
    walk.tiles = ceil_div(walk.end - walk.begin, BM) * ceil_div(groups.N, BN);
  }
  return true;
}

// A tile's first row and column, and the end of those of its rows that are the group's.
struct Tile {
  int row, column, end;
};

// Tile `index` of all, which is in the group that the walk has reached: down the columns first.
static __device__ Tile tile_of(const Walk& walk, int index) {
  const int high = ceil_div(walk.end - walk.begin, BM), in_group = index - walk.first;
  const int row = walk.begin + in_group % high * BM;
  return {row, in_group / high * BN, min(row + BM, walk.end)};
}

// Given. Blocks that stay: C[row][n] = A[row] * B[group of the row][n]. numbers[row][n / BN] is the
// number of the tile.
static __global__ void grouped_kernel(Groups groups, const float* A, const float* B, float* C,
                                      int* numbers) {
  Walk walk;
  for (int index = blockIdx.x; reach(walk, groups, index); index += gridDim.x) {
    const Tile tile = tile_of(walk, index);
    const int column = tile.column + threadIdx.x;
    for (int row = tile.row; row < tile.end; ++row) {
      if (column < groups.N)
        C[row * groups.N + column] = A[row] * B[walk.group * groups.N + column];
      if (threadIdx.x == 0) numbers[row * ceil_div(groups.N, BN) + tile.column / BN] = index;
    }
  }
}
