#pragma once
// setmaxnreg (sm_90a): registers go from one warpgroup to another. PTX ISA, "Miscellaneous
// Instructions: setmaxnreg".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
namespace ladder::ptx {

// Keeps N registers a thread of this warpgroup, a multiple of 8, and frees the others.
template <int N>
__device__ __forceinline__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

// Takes up to N, waiting until there are as many.
template <int N>
__device__ __forceinline__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

}  // namespace ladder::ptx
#endif
