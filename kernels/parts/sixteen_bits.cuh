#pragma once
// Numbers of 16 bits, half or bf16: what each of the two has another name for.
#include <type_traits>

#include "../launch.cuh"
#include "../types.cuh"

namespace ladder {

__device__ __forceinline__ float as_float(half x) {
  return __half2float(x);
}
__device__ __forceinline__ float as_float(bf16 x) {
  return __bfloat162float(x);
}

template <class T>
__device__ __forceinline__ T rounded(float x) {
  if constexpr (std::is_same_v<T, half>)
    return __float2half(x);
  else
    return __float2bfloat16(x);
}

// Two neighbours in a register, both rounded to T, `low` in the lower bits.
template <class T>
__device__ __forceinline__ uint32_t as_pair(float low, float high) {
  if constexpr (std::is_same_v<T, half>) {
    const half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const uint32_t&>(pair);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const uint32_t&>(pair);
  }
}

}  // namespace ladder
