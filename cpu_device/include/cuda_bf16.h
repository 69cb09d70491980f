#pragma once
// The CPU device's stand-in for CUDA's header: bfloat16 as storage, arithmetic by way of float.
#include <cstdint>

#include "cpu_device/sixteen_bits.h"

struct __nv_bfloat16 {
  uint16_t bits;

  __nv_bfloat16() = default;
  __nv_bfloat16(float value);
  operator float() const;
};
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 x;
  x.bits = bits;
  return x;
}

// Rounds to the nearest, ties to even, as the GPU does.
inline __nv_bfloat16 __float2bfloat16(float value) {
  const auto u = cpu_device::bits_as<uint32_t>(value);
  if ((u & 0x7FFFFFFF) > 0x7F800000) return __ushort_as_bfloat16(0x7FFF);  // NaN
  return __ushort_as_bfloat16(static_cast<uint16_t>((u + 0x7FFF + (u >> 16 & 1)) >> 16));
}
inline __nv_bfloat16::__nv_bfloat16(float value) : __nv_bfloat16(__float2bfloat16(value)) {}

inline float __bfloat162float(__nv_bfloat16 value) {
  return cpu_device::bits_as<float>(static_cast<uint32_t>(value.bits) << 16);
}
inline __nv_bfloat16::operator float() const {
  return __bfloat162float(*this);
}

// Copied as one number, so that a copy is one access.
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;

  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) : x(low), y(high) {}
  __nv_bfloat162(const __nv_bfloat162& other) { *this = other; }
  __nv_bfloat162& operator=(const __nv_bfloat162& other) {
    reinterpret_cast<uint32_t&>(*this) = reinterpret_cast<const uint32_t&>(other);
    return *this;
  }
};
LADDER_SIXTEEN_BITS(__nv_bfloat16, bfloat16, __nv_bfloat162, bfloat162)
