#pragma once
// mbarrier (sm_80): a barrier in shared memory whose arrival and wait are two instructions. PTX
// ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cstdint>

namespace ladder::ptx {

// One thread prepares the barrier for `count` arrivals a phase, the others see it after a
// __syncthreads.
__device__ __forceinline__ void mbarrier_init(uint64_t* barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(barrier))),
               "r"(count)
               : "memory");
}

// What this thread has read and written so far is done for whoever sees the phase complete. The
// last arrival completes it, and the next phase begins.
__device__ __forceinline__ void mbarrier_arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(barrier)))
               : "memory");
}

// Whether the phase of this parity (0 for the first, then 1, 0, ...) is complete.
__device__ __forceinline__ bool mbarrier_test_wait_parity(uint64_t* barrier, uint32_t parity) {
  uint32_t complete;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(complete)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(barrier))), "r"(parity)
      : "memory");
  return complete != 0;
}

}  // namespace ladder::ptx
#endif
