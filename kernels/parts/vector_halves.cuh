#pragma once
// Halves, or bf16, by eights, which are 16 bytes: what 03 and 04b do with floats by fours.
#include "../launch.cuh"
#include "plus_bytes.cuh"
#include "sixteen_bits.cuh"

namespace ladder {

template <class T>
__device__ __forceinline__ uint4& as_uint4(T& first) {
  return reinterpret_cast<uint4&>(first);
}
template <class T>
__device__ __forceinline__ const uint4& as_uint4(const T& first) {
  return reinterpret_cast<const uint4&>(first);
}

// Copies eight elements, of which the first `valid` exist and the others are 0.
__device__ __forceinline__ void copy8(half* to, const half* from, int valid) {
  if (valid >= 8) {
    as_uint4(*to) = as_uint4(*from);
  } else {
    const auto element = [&](int i) { return i < valid ? from[i] : __float2half(0.0f); };
    for (int i = 0; i < 6; ++i) to[i] = element(i);
    // The eighth is never there, so that the last two need no branch between them: one store.
    reinterpret_cast<half2&>(to[6]) = __halves2half2(element(6), __float2half(0.0f));
  }
}

// To copy, it does not matter what the bits mean.
__device__ __forceinline__ void copy8(bf16* to, const bf16* from, int valid) {
  copy8(reinterpret_cast<half*>(to), reinterpret_cast<const half*>(from), valid);
}

// Rounds eight consecutive floats to T and stores the first `valid`.
template <class T>
__device__ __forceinline__ void store8(T* p, const float* v, int valid) {
  const float4 a = reinterpret_cast<const float4*>(v)[0], b = reinterpret_cast<const float4*>(v)[1];
  __align__(16) const T h[8] = {rounded<T>(a.x), rounded<T>(a.y), rounded<T>(a.z), rounded<T>(a.w),
                                rounded<T>(b.x), rounded<T>(b.y), rounded<T>(b.z), rounded<T>(b.w)};
  if (valid >= 8) {
    as_uint4(*p) = as_uint4(h[0]);
  } else {
    for (int i = 0; i < 7; ++i)
      if (i < valid) p[i] = h[i];
  }
}

}  // namespace ladder
