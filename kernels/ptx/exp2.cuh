#pragma once
// ex2.approx (sm_20). PTX ISA, "Floating-Point Instructions: ex2".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else

namespace ladder::ptx {

// 2 to the power of x within 2^-22 of it, relatively, and 0 where that is no normal number: one
// instruction of the unit for special functions. exp2f has two more, for what is not normal.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace ladder::ptx
#endif
