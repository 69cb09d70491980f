#pragma once
// Packing of small integers. PTX ISA, "Data Movement and Conversion Instructions: cvt.pack".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cstdint>

namespace ladder::ptx {

// Two integers cut to -128 .. 127, `low` in the lower byte.
__device__ __forceinline__ uint16_t pack_s8(int32_t low, int32_t high) {
  uint32_t packed;
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;" : "=r"(packed) : "r"(high), "r"(low));
  return static_cast<uint16_t>(packed);
}

}  // namespace ladder::ptx
#endif
