#pragma once
// Memory by 16 bytes, as 03 and 04b write it out: four floats at once, also where fewer exist.
#include "../launch.cuh"
#include "plus_bytes.cuh"

namespace ladder {

// Four consecutive floats; `first` lies on 16 bytes.
__device__ __forceinline__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ __forceinline__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// Four elements from p, of which the first `valid` exist and the others are 0.
__device__ __forceinline__ float4 load4(const float* p, int valid) {
  if (valid >= 4) return as_float4(*p);
  return make_float4(valid > 0 ? p[0] : 0.0f, valid > 1 ? p[1] : 0.0f, valid > 2 ? p[2] : 0.0f,
                     0.0f);
}

// The first `valid` of four consecutive elements of C.
__device__ __forceinline__ void store4(float* p, float4 v, int valid) {
  if (valid >= 4) {
    as_float4(*p) = v;
  } else {
    if (valid > 0) p[0] = v.x;
    if (valid > 1) p[1] = v.y;
    if (valid > 2) p[2] = v.z;
  }
}

}  // namespace ladder
