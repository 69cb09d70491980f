#pragma once
// No instruction: what the compiler is not to know. The CPU device's compiler takes it, too.
#include "../launch.cuh"

namespace ladder::ptx {

// The same number, of which the compiler knows nothing any more: what it has computed from `x` it
// cannot take for what is computed from this.
__device__ __forceinline__ int forgotten(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

}  // namespace ladder::ptx
