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

// x in the lower bits. One number, so that a copy is one access.
struct half2 {
  uint32_t bits;
};
inline half2 __halves2half2(half x, half y) {
  return {x.bits | static_cast<uint32_t>(y.bits) << 16};
}
inline half2 __floats2half2_rn(float x, float y) {
  return {__float2half(x).bits | static_cast<uint32_t>(__float2half(y).bits) << 16};
}

inline float __half2float(half value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  uint32_t u = static_cast<uint32_t>(value.bits & 0x7FFF) << 13;
  float magnitude;
  std::memcpy(&magnitude, &u, 4);
  magnitude *= 0x1p112f;  // the difference of the exponents' biases; subnormals become normal
  std::memcpy(&u, &magnitude, 4);
  if (magnitude >= 65536) u |= 0x7F800000;  // infinity or NaN
  u |= sign;
  std::memcpy(&magnitude, &u, 4);
  return magnitude;
}
inline float __low2float(half2 pair) {
  return __half2float({static_cast<uint16_t>(pair.bits)});
}
inline float __high2float(half2 pair) {
  return __half2float({static_cast<uint16_t>(pair.bits >> 16)});
}
