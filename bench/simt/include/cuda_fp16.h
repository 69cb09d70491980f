#pragma once
// The CPU device's stand-in for CUDA's header: half as storage, arithmetic by way of float.
#include <cstdint>
#include <cstring>

// IEEE 754 binary16.
struct half {
  uint16_t bits;
};

// Rounds to the nearest, ties to even, as the GPU does.
inline half __float2half(float value) {
  uint32_t u;
  std::memcpy(&u, &value, 4);
  const auto sign = static_cast<uint16_t>(u >> 16 & 0x8000);
  u &= 0x7FFFFFFF;
  if (u > 0x7F800000) return {static_cast<uint16_t>(sign | 0x7FFF)};   // NaN
  if (u >= 0x477FF000) return {static_cast<uint16_t>(sign | 0x7C00)};  // rounds to infinity
  if (u < 0x38800000) {
    // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded, at the end of the sum.
    float sum;
    std::memcpy(&sum, &u, 4);
    sum += 0.5f;
    std::memcpy(&u, &sum, 4);
    return {static_cast<uint16_t>(sign | (u - 0x3F000000))};
  }
  u += 0xFFF + (u >> 13 & 1);  // to even
  return {static_cast<uint16_t>(sign | ((u - 0x38000000) >> 13))};
}

inline float __half2float(half value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  const uint32_t exponent = value.bits >> 10 & 31, mantissa = value.bits & 0x3FF;
  uint32_t u;
  if (exponent == 31) {
    u = sign | 0x7F800000 | mantissa << 13;
  } else if (exponent != 0) {
    u = sign | (exponent + 112) << 23 | mantissa << 13;
  } else {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    std::memcpy(&u, &magnitude, 4);
    u |= sign;
  }
  float result;
  std::memcpy(&result, &u, 4);
  return result;
}
