#pragma once
// prefetch.global.L1. PTX ISA, "Data Movement and Conversion Instructions: prefetch".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else

namespace ladder::ptx {

// Brings a line to L1; the thread does not wait for it.
__device__ __forceinline__ void prefetch_l1(const void* address) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
}

}  // namespace ladder::ptx
#endif
