#pragma once
// The CPU device's stand-in for CUDA's header: the two formats of 8 bits as storage.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cuda_fp16.h"

namespace cpu_device {

// Rounds to a format of 8 bits with FRACTION bits of fraction, to the nearest, ties to even; what
// is beyond `largest`, infinities too, becomes it ("satfinite", as the GPU's conversion does). NaN
// is 0x7F.
template <int FRACTION>
uint8_t float_to_fp8(float value, float largest) {
  constexpr int BIAS = (1 << (6 - FRACTION)) - 1;  // of the exponent
  if (std::isnan(value)) return 0x7F;
  const auto sign = static_cast<uint8_t>(bits_as<uint32_t>(value) >> 24 & 0x80);
  const float magnitude = std::min(std::fabs(value), largest);
  if (magnitude < std::ldexp(1.0f, 1 - BIAS)) {
    // Below the normal numbers all have the same distance. Beside `large` floats have it as well,
    // and the sum is rounded to it.
    const float large = std::ldexp(1.0f, 1 - BIAS - FRACTION + 23);
    return static_cast<uint8_t>(sign |
                                (bits_as<uint32_t>(magnitude + large) - bits_as<uint32_t>(large)));
  }
  constexpr int DROPPED = 23 - FRACTION;
  uint32_t u = bits_as<uint32_t>(magnitude);
  u += (1u << (DROPPED - 1)) - 1 + (u >> DROPPED & 1);  // to even
  return static_cast<uint8_t>(sign | ((u >> DROPPED) - ((127u - BIAS) << FRACTION)));
}

}  // namespace cpu_device

// Four bits of exponent, three of fraction. There are no infinities: the largest exponent has
// numbers, too, and 0x7F and 0xFF alone are NaN.
struct __nv_fp8_e4m3 {
  uint8_t __x;

  __nv_fp8_e4m3() = default;
  explicit __nv_fp8_e4m3(float value) : __x(cpu_device::float_to_fp8<3>(value, 448)) {}
  explicit operator float() const {
    if ((__x & 0x7F) == 0x7F) return NAN;
    // As a half it has the exponent 8 less: 7 and 15 are the biases.
    return 256 * __half2float(__ushort_as_half(
                     static_cast<uint16_t>((__x & 0x80) << 8 | (__x & 0x7F) << 7)));
  }
};

// Five bits of exponent, two of fraction: the upper half of a half.
struct __nv_fp8_e5m2 {
  uint8_t __x;

  __nv_fp8_e5m2() = default;
  explicit __nv_fp8_e5m2(float value) : __x(cpu_device::float_to_fp8<2>(value, 57344)) {}
  explicit operator float() const {
    return __half2float(__ushort_as_half(static_cast<uint16_t>(__x << 8)));
  }
};
