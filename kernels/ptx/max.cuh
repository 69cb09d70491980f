#pragma once
// The larger of two floats. PTX ISA, "max".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else

namespace ladder::ptx {

// NaN where one of them is, unlike fmaxf. (sm_80)
__device__ __forceinline__ float max_or_nan(float x, float y) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(x), "f"(y));
  return larger;
}

}  // namespace ladder::ptx
#endif
