#pragma once
// Sums that a warpgroup leaves in the workspace, and another one, of a block of the same grid, adds
// to its own.
#include <cstdint>
#include <mutex>
#include <random>

#include "../launch.cuh"
#include "../ptx/named_barrier.cuh"
#include "../ptx/signal.cuh"
#include "warpgroup.cuh"

namespace ladder {

// Of each block that many sums of as many threads; and of each of its warpgroups a word, which is
// the launch's token while the sums are there.
template <int SUMS_OF_THREAD, int THREADS>
struct SumsLeft {
  static constexpr int WARPGROUP = 128;
  static constexpr int WORD_BYTES = 128;  // of a block: a line of its own
  using Sums = float4[SUMS_OF_THREAD / 4][THREADS];

  char* workspace;
  uint64_t token;

  __host__ __device__ static constexpr uint64_t bytes(int blocks) {
    return static_cast<uint64_t>(blocks) * (WORD_BYTES + sizeof(Sums));
  }
  __device__ __forceinline__ uint64_t* word(int block, int group) const {
    return reinterpret_cast<uint64_t*>(workspace + int64_t{block} * WORD_BYTES) + group;
  }
  __device__ __forceinline__ float4 (*sums(int block) const)[THREADS] {
    return reinterpret_cast<Sums*>(workspace + int64_t{gridDim.x} * WORD_BYTES)[block];
  }

  // This warpgroup's sums, for who has the tile's end.
  template <int BOXES, int SUMS>
  __device__ __forceinline__ void leave(const float (&acc)[BOXES][SUMS]) const {
    const int group = warpgroup_of_block();
    auto* const to = sums(blockIdx.x);
#pragma unroll
    for (int w = 0; w < BOXES; ++w)
#pragma unroll
      for (int i = 0; i < SUMS; i += 4)
        to[(w * SUMS + i) / 4][threadIdx.x] =
            make_float4(acc[w][i], acc[w][i + 1], acc[w][i + 2], acc[w][i + 3]);
    __threadfence();
    ptx::named_barrier_sync(1 + group, WARPGROUP);  // all have stored theirs
    if (threadIdx.x % WARPGROUP == 0) ptx::store_release(word(blockIdx.x, group), token);
  }

  // Adds what `block` has left, and frees its word for the next launch: where a graph is replayed,
  // that one has the same token.
  template <int BOXES, int SUMS>
  __device__ __forceinline__ void add(float (&acc)[BOXES][SUMS], int block) const {
    const int group = warpgroup_of_block();
    if (threadIdx.x % WARPGROUP == 0) {
      ptx::wait_for(word(block, group), token);
      *word(block, group) = 0;
    }
    ptx::named_barrier_sync(1 + group, WARPGROUP);  // for all of them
    const auto* const from = sums(block);
#pragma unroll
    for (int w = 0; w < BOXES; ++w)
#pragma unroll
      for (int i = 0; i < SUMS; i += 4) {
        const float4 quad = from[(w * SUMS + i) / 4][threadIdx.x];
        acc[w][i] += quad.x, acc[w][i + 1] += quad.y;
        acc[w][i + 2] += quad.z, acc[w][i + 3] += quad.w;
      }
  }
};

#ifndef __CUDACC_RTC__

// A word in the workspace says nothing before this launch, for nobody knows what is there. No two
// launches of all programs have the same token, but the replays of a graph.
inline uint64_t new_token() {
  static std::mutex mutex;
  static uint64_t last = std::random_device()() * 0x100000001ull | 1;
  const std::lock_guard<std::mutex> lock(mutex);
  return last += 0x9E3779B97F4A7C15u;
}

#endif  // __CUDACC_RTC__

}  // namespace ladder
