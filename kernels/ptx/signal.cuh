#pragma once
// Words in global memory with which blocks of one grid tell each other what is there. PTX ISA,
// "ld", "st", "Memory Consistency Model".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cstdint>

namespace ladder::ptx {

// Writes a word; who acquires it, in whatever block, sees all that this thread has written or seen.
__device__ __forceinline__ void store_release(uint64_t* word, uint64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

// Waits until the word has the value, and acquires it.
__device__ __forceinline__ void wait_for(const uint64_t* word, uint64_t value) {
  uint64_t found;
  do asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(word) : "memory");
  while (found != value);
}

}  // namespace ladder::ptx
#endif
