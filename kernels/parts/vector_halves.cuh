#pragma once
// Halves by eights, which are 16 bytes: what 03 and 04b do with floats by fours.
#include "../launch.cuh"
#include "plus_bytes.cuh"

namespace ladder {

__device__ __forceinline__ uint4& as_uint4(half& first) {
  return reinterpret_cast<uint4&>(first);
}
__device__ __forceinline__ const uint4& as_uint4(const half& first) {
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

// Rounds eight consecutive floats to half and stores the first `valid`.
__device__ __forceinline__ void store8(half* p, const float* v, int valid) {
  const float4 a = reinterpret_cast<const float4*>(v)[0], b = reinterpret_cast<const float4*>(v)[1];
  __align__(16) const half h[8] = {__float2half(a.x), __float2half(a.y), __float2half(a.z),
                                   __float2half(a.w), __float2half(b.x), __float2half(b.y),
                                   __float2half(b.z), __float2half(b.w)};
  if (valid >= 8) {
    as_uint4(*p) = as_uint4(h[0]);
  } else {
    for (int i = 0; i < 7; ++i)
      if (i < valid) p[i] = h[i];
  }
}

}  // namespace ladder
