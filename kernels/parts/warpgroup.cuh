#pragma once
// Which warp, and which warpgroup, of its block a thread is in.
#include "../launch.cuh"

namespace ladder {

// All lanes of a warp have it from lane 0. They would have found the same number, but this way
// ptxas knows that it is one for the warp: what is made of it, such as wgmma's descriptors, stays
// in uniform registers, where wgmma and TMA want it. Otherwise the loop moves it there, two R2UR
// for each wgmma.
__device__ __forceinline__ int warp_of_block() {
  return __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 32, 0);
}
__device__ __forceinline__ int warpgroup_of_block() {
  constexpr int WARPGROUP = 128;
  return __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / WARPGROUP, 0);
}

}  // namespace ladder
