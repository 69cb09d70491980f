#pragma once
// The number formats that stages compute in, and what the harness has to know about each.
#include "launch.cuh"

namespace ladder::harness {

template <class T>
struct Number;

template <>
struct Number<float> {
  static constexpr const char* NAME = "fp32";
  static constexpr double UNIT_ROUNDOFF = 0x1p-24;  // half the distance from 1 to the next number
  static constexpr double SMALLEST_NORMAL = 0x1p-126;  // below it, rounding errors are absolute
  static float from_float(float x) { return x; }
  static float to_float(float x) { return x; }
};

template <>
struct Number<half> {
  static constexpr const char* NAME = "fp16";
  static constexpr double UNIT_ROUNDOFF = 0x1p-11;
  static constexpr double SMALLEST_NORMAL = 0x1p-14;
  static half from_float(float x) { return __float2half(x); }
  static float to_float(half x) { return __half2float(x); }
};

// The formats with a Number<>.
#define LADDER_NUMBERS(DO) \
  DO(float)                \
  DO(half)

// What stages are made of: the formats of A and B, of C, and of the sums. The one list: whatever
// the harness defines for each of them is instantiated from it, `#define DO(In, Out, Accumulate)
// ...`.
#define LADDER_FORMATS(DO) \
  DO(float, float, float)  \
  DO(half, half, float)

// Formats<In, Out>::Accumulate is the format of the sums.
template <class In, class Out>
struct Formats;
#define LADDER_DEFINE(In, Out, Sum) \
  template <>                       \
  struct Formats<In, Out> {         \
    using Accumulate = Sum;         \
  };
LADDER_FORMATS(LADDER_DEFINE)
#undef LADDER_DEFINE

// Elements in 16 bytes: leading dimensions are multiples of it.
template <class T>
constexpr int PER_16_BYTES = 16 / static_cast<int>(sizeof(T));

}  // namespace ladder::harness
