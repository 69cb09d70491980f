#pragma once
// A grid that has C's tiles in three dimensions, so that a block finds its own without a division,
// which takes a hundred clocks and more: much where a kernel takes few microseconds. Rows of tiles
// along x, each of one or several blocks; columns along y and, beyond CUDA's 65,535, z. So the
// tiles of a column, which read the same of B, begin one after the other: B's lines are asked for
// at about the same time, and come from L2 once for several of them.
#include "../launch.cuh"

namespace ladder {

inline dim3 tile_grid(int blocks_x, int tiles_n) {
  const int z = ceil_div(tiles_n, 65535);
  return dim3(blocks_x, ceil_div(tiles_n, z), z);
}

// This block's column of tiles. Some of the last along z and y may lie beyond C.
__device__ __forceinline__ int tile_column() {
  return blockIdx.z * gridDim.y + blockIdx.y;
}

}  // namespace ladder
