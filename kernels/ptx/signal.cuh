#pragma once
// Words in global memory with which blocks of one grid tell each other what is there. PTX ISA,
// "ld", "st", "Memory Consistency Model".
#include <cstdint>

namespace ladder::ptx {

#ifdef LADDER_CPU_DEVICE
// Blocks run one after the other: what an earlier one has written is there.
inline void store_release(uint64_t* word, uint64_t value) {
  *word = value;
}
inline uint64_t load_acquire(const uint64_t* word) {
  return *word;
}
#else
// Writes a word; who acquires it, in whatever block, sees all that this thread has written or seen.
__device__ __forceinline__ void store_release(uint64_t* word, uint64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ __forceinline__ uint64_t load_acquire(const uint64_t* word) {
  uint64_t value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
#endif

}  // namespace ladder::ptx
