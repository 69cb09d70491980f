#pragma once
// tanh.approx (sm_75). PTX ISA, "Floating-Point Instructions: tanh".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else

namespace ladder::ptx {

// tanh(x) within 2^-11 of it, relatively: one instruction of the unit for special functions.
__device__ __forceinline__ float tanh_approx(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace ladder::ptx
#endif
