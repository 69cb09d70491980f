#pragma once
// CUDA's functions of a warp and of a block. Included by cuda_runtime.h.
//
// The lanes that a mask names wait for each other, but for those that have returned. The last
// argument's default is the caller's place.
#include <cstdint>
#include <cstring>

#include "block.h"
#include "trace.h"

constexpr int warpSize = cpu_device::WARP;

inline void __syncthreads(cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->barrier(place);
}
inline int __syncthreads_count(int predicate, cpu_device::Place place = cpu_device::here()) {
  return static_cast<int>(cpu_device::this_block->vote(predicate != 0, place).yes);
}
inline int __syncthreads_and(int predicate, cpu_device::Place place = cpu_device::here()) {
  const cpu_device::Vote vote = cpu_device::this_block->vote(predicate != 0, place);
  return vote.yes == vote.all;
}
inline int __syncthreads_or(int predicate, cpu_device::Place place = cpu_device::here()) {
  return cpu_device::this_block->vote(predicate != 0, place).yes > 0;
}
inline void __syncwarp(uint32_t mask = ~0u, cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->warp_barrier(place, mask);
}
// Lanes that come here together: all that can come before one of them goes on.
inline uint32_t __activemask(cpu_device::Place place = cpu_device::here()) {
  return cpu_device::this_block->converged(place);
}

namespace cpu_device {

// What all lanes of the mask give, by lane, and which of them there are.
template <class T>
struct FromLanes {
  T value[WARP];
  uint32_t lanes;
};
template <class T>
LADDER_UNTRACED inline FromLanes<T> from_lanes(uint32_t mask, T value, const Place& place) {
  struct Lane {
    T value;
    FromLanes<T>* all;
  };
  FromLanes<T> all;
  Lane own{value, &all};
  this_block->warp_collective(
      &own,
      [](void** lanes, uint32_t there) LADDER_UNTRACED {
        for (unsigned to = 0; to < WARP; ++to) {
          if (!(there >> to & 1)) continue;
          FromLanes<T>& result = *static_cast<Lane*>(lanes[to])->all;
          result.lanes = there;
          for (unsigned l = 0; l < WARP; ++l)
            if (there >> l & 1) result.value[l] = static_cast<Lane*>(lanes[l])->value;
        }
      },
      place, mask);
  return all;
}
template <class T>
inline T shuffled(uint32_t mask, T value, int from, const Place& place) {
  return from_lanes(mask, value, place).value[from];
}
template <class T, class Join>
LADDER_UNTRACED inline T reduced(uint32_t mask, T value, const Place& place, const Join& join) {
  const FromLanes<T> all = from_lanes(mask, value, place);
  T result = value;
  bool first = true;
  for (unsigned l = 0; l < WARP; ++l) {
    if (!(all.lanes >> l & 1)) continue;
    result = first ? all.value[l] : join(result, all.value[l]);
    first = false;
  }
  return result;
}

}  // namespace cpu_device

// --- Shuffles: from another lane of the same `width` lanes; where there is none, the own value ---

template <class T>
inline T __shfl_sync(uint32_t mask, T value, int from, int width = warpSize,
                     cpu_device::Place place = cpu_device::here()) {
  const int lane = static_cast<int>(cpu_device::this_block->lane());
  return cpu_device::shuffled(mask, value, (lane & -width) + (from & (width - 1)), place);
}
template <class T>
inline T __shfl_up_sync(uint32_t mask, T value, unsigned delta, int width = warpSize,
                        cpu_device::Place place = cpu_device::here()) {
  const int lane = static_cast<int>(cpu_device::this_block->lane());
  const int from = lane - static_cast<int>(delta);
  return cpu_device::shuffled(mask, value, from < (lane & -width) ? lane : from, place);
}
template <class T>
inline T __shfl_down_sync(uint32_t mask, T value, unsigned delta, int width = warpSize,
                          cpu_device::Place place = cpu_device::here()) {
  const int lane = static_cast<int>(cpu_device::this_block->lane());
  const int from = lane + static_cast<int>(delta);
  return cpu_device::shuffled(mask, value, from >= (lane & -width) + width ? lane : from, place);
}
// Of a part in front of the own one, too.
template <class T>
inline T __shfl_xor_sync(uint32_t mask, T value, int bits, int width = warpSize,
                         cpu_device::Place place = cpu_device::here()) {
  const int lane = static_cast<int>(cpu_device::this_block->lane());
  const int from = lane ^ bits;
  return cpu_device::shuffled(mask, value, from >= (lane & -width) + width ? lane : from, place);
}

// --- Votes, matches, sums -----------------------------------------------------------------------

inline uint32_t __ballot_sync(uint32_t mask, int predicate,
                              cpu_device::Place place = cpu_device::here()) {
  const uint32_t vote = uint32_t{predicate != 0} << cpu_device::this_block->lane();
  return cpu_device::reduced(mask, vote, place, [](uint32_t a, uint32_t b) { return a | b; });
}
inline int __any_sync(uint32_t mask, int predicate, cpu_device::Place place = cpu_device::here()) {
  return __ballot_sync(mask, predicate, place) != 0;
}
inline int __all_sync(uint32_t mask, int predicate, cpu_device::Place place = cpu_device::here()) {
  return __ballot_sync(mask, predicate == 0, place) == 0;
}
template <class T>
LADDER_UNTRACED inline uint32_t __match_any_sync(uint32_t mask, T value,
                                                 cpu_device::Place place = cpu_device::here()) {
  const auto all = cpu_device::from_lanes(mask, value, place);
  uint32_t same = 0;
  for (unsigned l = 0; l < cpu_device::WARP; ++l)
    if (all.lanes >> l & 1)
      same |= uint32_t{std::memcmp(&all.value[l], &value, sizeof value) == 0} << l;
  return same;
}
template <class T>
LADDER_UNTRACED inline uint32_t __match_all_sync(uint32_t mask, T value, int* all_the_same,
                                                 cpu_device::Place place = cpu_device::here()) {
  const auto all = cpu_device::from_lanes(mask, value, place);
  *all_the_same = 1;
  for (unsigned l = 0; l < cpu_device::WARP; ++l)
    if ((all.lanes >> l & 1) && std::memcmp(&all.value[l], &value, sizeof value) != 0)
      *all_the_same = 0;
  return *all_the_same ? all.lanes : 0;
}
#define LADDER_REDUCTION(T, name, ...)                                                         \
  inline T __reduce_##name##_sync(uint32_t mask, T value,                                      \
                                  cpu_device::Place place = cpu_device::here()) {              \
    return cpu_device::reduced(mask, value, place, [](T a, T b) -> T { return __VA_ARGS__; }); \
  }
LADDER_REDUCTION(unsigned, add, a + b)
LADDER_REDUCTION(unsigned, min, a < b ? a : b)
LADDER_REDUCTION(unsigned, max, a < b ? b : a)
LADDER_REDUCTION(unsigned, and, a& b)
LADDER_REDUCTION(unsigned, or, a | b)
LADDER_REDUCTION(unsigned, xor, a ^ b)
LADDER_REDUCTION(int, add, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
LADDER_REDUCTION(int, min, a < b ? a : b)
LADDER_REDUCTION(int, max, a < b ? b : a)
#undef LADDER_REDUCTION
