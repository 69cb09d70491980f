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

// Rounds to the nearest, ties to even, as the GPU does, and as there without a branch: what way a
// kernel takes does not depend on its numbers.
inline half __float2half(float value) {
  const auto all_bits_if = [](bool is_so) { return -static_cast<uint32_t>(is_so); };
  auto u = cpu_device::bits_as<uint32_t>(value);
  const uint32_t sign = u >> 16 & 0x8000;
  u &= 0x7FFFFFFF;
  const uint32_t is_nan = all_bits_if(u > 0x7F800000), is_small = all_bits_if(u < 0x38800000),
                 is_large = all_bits_if(u >= 0x477FF000);  // rounds to infinity
  // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded, at the end of the sum.
  const uint32_t subnormal =
      cpu_device::bits_as<uint32_t>(cpu_device::bits_as<float>(u) + 0.5f) - 0x3F000000;
  const uint32_t normal = (u + 0xFFF + (u >> 13 & 1) - 0x38000000) >> 13;  // to even
  const uint32_t finite = (subnormal & is_small) | (normal & ~is_small);
  const uint32_t number = sign | (finite & ~is_large) | (0x7C00 & is_large);
  // Of NaN the GPU keeps no sign.
  return __ushort_as_half(static_cast<uint16_t>((number & ~is_nan) | (0x7FFF & is_nan)));
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
