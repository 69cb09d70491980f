#pragma once
// A grid that has C's tiles in three dimensions, so that a block finds its own without a division,
// which takes a hundred clocks and more: much where a kernel takes few microseconds. Columns of
// tiles along x, of which each may have several blocks; rows along y and, beyond CUDA's 65,535, z.
#include "../launch.cuh"

namespace ladder {

inline dim3 tile_grid(int tiles_m, int blocks_x) {
  const int z = ceil_div(tiles_m, 65535);
  return dim3(blocks_x, ceil_div(tiles_m, z), z);
}

// This block's row of tiles. Some of the last along z and y may lie below C.
__device__ __forceinline__ int tile_row() {
  return blockIdx.z * gridDim.y + blockIdx.y;
}

}  // namespace ladder
