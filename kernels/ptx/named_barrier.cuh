#pragma once
// Barriers of a part of a block's warps, and one lane of a warp. PTX ISA, "Parallel Synchronization
// and Communication Instructions: bar", "elect.sync".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else

namespace ladder::ptx {

// Waits until `threads` threads, a multiple of 32, have come to barrier `id` of the block: 1 to 15,
// for 0 is that of __syncthreads. Orders what they have done before.
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Comes to the barrier and does not wait.
__device__ __forceinline__ void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// True in one lane of the warp, which has to be whole, and always in the same.
__device__ __forceinline__ bool elect_one() {
  int elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.s32 %0, 1, 0, p;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

}  // namespace ladder::ptx
#endif
