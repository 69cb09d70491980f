#pragma once
// The CPU device's stand-in for CUDA's header: half as storage, arithmetic by way of float.
#include <cstdint>

#include "cpu_device/sixteen_bits.h"

// IEEE 754 binary16.
struct half {
  uint16_t bits;

  half() = default;
  half(float value);
  operator float() const;
};
inline half __ushort_as_half(unsigned short bits) {
  half x;
  x.bits = bits;
  return x;
}

// Rounds to the nearest, ties to even, as the GPU does.
LADDER_UNTRACED inline half __float2half(float value) {
  auto u = cpu_device::bits_as<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(u >> 16 & 0x8000);
  u &= 0x7FFFFFFF;
  if (u > 0x7F800000) return __ushort_as_half(0x7FFF);  // NaN, of which the GPU keeps no sign
  if (u >= 0x477FF000) return __ushort_as_half(sign | 0x7C00);  // rounds to infinity
  // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded, at the end of the sum.
  if (u < 0x38800000)
    u = cpu_device::bits_as<uint32_t>(cpu_device::bits_as<float>(u) + 0.5f) - 0x3F000000;
  else
    u = (u + 0xFFF + (u >> 13 & 1) - 0x38000000) >> 13;  // to even
  return __ushort_as_half(static_cast<uint16_t>(sign | u));
}
inline half::half(float value) : half(__float2half(value)) {}

inline float __half2float(half value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  // The difference of the exponents' biases: subnormals become normal.
  const float magnitude =
      cpu_device::bits_as<float>(static_cast<uint32_t>(value.bits & 0x7FFF) << 13) * 0x1p112f;
  auto u = cpu_device::bits_as<uint32_t>(magnitude);
  if (magnitude >= 65536) u |= 0x7F800000;  // infinity or NaN
  return cpu_device::bits_as<float>(u | sign);
}
inline half::operator float() const {
  return __half2float(*this);
}

// Copied as one number, so that a copy is one access.
struct alignas(4) half2 {
  half x, y;

  half2() = default;
  half2(half low, half high) : x(low), y(high) {}
  half2(const half2& other) { *this = other; }
  half2& operator=(const half2& other) {
    reinterpret_cast<uint32_t&>(*this) = reinterpret_cast<const uint32_t&>(other);
    return *this;
  }
};
using __half = half;
using __half2 = half2;
LADDER_SIXTEEN_BITS(half, half, half2, half2)
