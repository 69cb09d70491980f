#pragma once
// Tiles of which some are divided along K, among clusters that run at the same time.
#include <algorithm>
#include <cstdint>

#include "../launch.cuh"
#include "configurations.cuh"

namespace ladder {

// Tiles 0 to whole - 1 are done in whole waves. All steps of the `divided` tiles after them, in a
// row, are cut into as many ranges as there are clusters.
struct Division {
  int whole, divided, steps;  // steps: of a tile

  // Where the range of a cluster begins, in steps from the first divided tile.
  __host__ __device__ int64_t begin(int cluster, int clusters) const {
    return static_cast<int64_t>(divided) * steps * cluster / clusters;
  }
};

#ifndef __CUDACC_RTC__

// Clusters of so many blocks that there are, each with a step at least.
inline int clusters_of(int tiles, int steps, int blocks) {
  const int64_t all = static_cast<int64_t>(tiles) * steps;
  return static_cast<int>(std::min<int64_t>(clusters_at_once(blocks), all));
}
// Where the tiles that are left fill less than half of a wave, those of the wave before are divided
// with them: then a tile has two or three parts, and not many.
inline Division divided(int tiles, int steps, int clusters) {
  int left = tiles % clusters;
  if (left > 0 && 2 * left < clusters && tiles > clusters) left += clusters;
  return {tiles - left, left, steps};
}

#endif  // __CUDACC_RTC__

}  // namespace ladder
