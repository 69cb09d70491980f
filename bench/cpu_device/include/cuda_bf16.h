#pragma once
// The CPU device's stand-in for CUDA's header: bfloat16 as storage, arithmetic by way of float.
#include <cstdint>
#include <cstring>

struct __nv_bfloat16 {
  uint16_t bits;
};

// Rounds to the nearest, ties to even, as the GPU does.
inline __nv_bfloat16 __float2bfloat16(float value) {
  uint32_t u;
  std::memcpy(&u, &value, 4);
  if ((u & 0x7FFFFFFF) > 0x7F800000) return {0x7FFF};  // NaN
  return {static_cast<uint16_t>((u + 0x7FFF + (u >> 16 & 1)) >> 16)};
}

inline float __bfloat162float(__nv_bfloat16 value) {
  const uint32_t u = static_cast<uint32_t>(value.bits) << 16;
  float wide;
  std::memcpy(&wide, &u, 4);
  return wide;
}

// x in the lower bits. One number, so that a copy is one access.
struct __nv_bfloat162 {
  uint32_t bits;
};
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16(x).bits | static_cast<uint32_t>(__float2bfloat16(y).bits) << 16};
}
