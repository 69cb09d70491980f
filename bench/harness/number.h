#pragma once
// The number formats that stages compute in, and what the harness has to know about each.
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "launch.cuh"
#include "types.cuh"

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

// In memory a float: what a kernel drops of it is in Rounds.
template <>
struct Number<tf32> {
  static constexpr const char* NAME = "tf32";
  static tf32 from_float(float x) { return {x}; }
  static float to_float(tf32 x) { return x.value; }
};

template <>
struct Number<half> {
  static constexpr const char* NAME = "fp16";
  static constexpr double UNIT_ROUNDOFF = 0x1p-11;
  static constexpr double SMALLEST_NORMAL = 0x1p-14;
  static half from_float(float x) { return __float2half(x); }
  static float to_float(half x) { return __half2float(x); }
};

template <>
struct Number<bf16> {
  static constexpr const char* NAME = "bf16";
  static constexpr double UNIT_ROUNDOFF = 0x1p-8;
  static constexpr double SMALLEST_NORMAL = 0x1p-126;
  static bf16 from_float(float x) { return __float2bfloat16(x); }
  static float to_float(bf16 x) { return __bfloat162float(x); }
};

// A format of 8 bits: there are so few numbers that a table has them all.
template <class T>
struct Number8 {
  static T from_float(float x) { return T(x); }
  static float to_float(T x) {
    static const auto TABLE = [] {
      std::array<float, 256> table;
      for (unsigned bits = 0; bits < table.size(); ++bits) {
        const auto byte = static_cast<unsigned char>(bits);
        T number;
        std::memcpy(static_cast<void*>(&number), &byte, sizeof number);
        table[bits] = static_cast<float>(number);
      }
      return table;
    }();
    return TABLE[x.__x];
  }
};
template <>
struct Number<e4m3> : Number8<e4m3> {
  static constexpr const char* NAME = "e4m3";
  static constexpr double UNIT_ROUNDOFF = 0x1p-4;
  static constexpr double SMALLEST_NORMAL = 0x1p-6;
};
template <>
struct Number<e5m2> : Number8<e5m2> {
  static constexpr const char* NAME = "e5m2";
  static constexpr double UNIT_ROUNDOFF = 0x1p-3;
  static constexpr double SMALLEST_NORMAL = 0x1p-14;
};

// Integers. All that is made of them is exact, so that results have to be equal.
template <>
struct Number<int8_t> {
  static constexpr const char* NAME = "int8";
  static int8_t from_float(float x) { return static_cast<int8_t>(x); }
  static float to_float(int8_t x) { return x; }
};
template <>
struct Number<int32_t> {
  static constexpr const char* NAME = "int32";
  static int32_t from_float(float x) { return static_cast<int32_t>(x); }
  static double to_float(int32_t x) { return x; }  // a float has not all of them
};

// The formats of results.
#define LADDER_OUTPUTS(DO) \
  DO(float)                \
  DO(half)                 \
  DO(bf16)                 \
  DO(int8_t)               \
  DO(int32_t)

// What stages are made of: the formats of A and B, of C, and of the sums. The one list: whatever
// the harness defines for each of them is instantiated from it, `#define DO(In, Out, Accumulate)
// ...`.
#define LADDER_FORMATS(DO)  \
  LADDER_CUBLAS_FORMATS(DO) \
  LADDER_CUBLASLT_FORMATS(DO)
// Those that cuBLAS multiplies in any layout.
#define LADDER_CUBLAS_FORMATS(DO)           \
  DO(float, float, float)                   \
  DO(half, half, float)                     \
  DO(::ladder::bf16, ::ladder::bf16, float) \
  DO(::ladder::tf32, float, float)          \
  DO(int8_t, int32_t, int32_t)
// Those that cublasLt alone does, with B transposed.
#define LADDER_CUBLASLT_FORMATS(DO)         \
  DO(::ladder::e4m3, ::ladder::bf16, float) \
  DO(::ladder::e5m2, ::ladder::bf16, float) \
  DO(int8_t, int8_t, int32_t)

// The stages that are there in two formats.
#define LADDER_PAIRS(DO)                         \
  DO(half, half, ::ladder::bf16, ::ladder::bf16) \
  DO(int8_t, int8_t, int8_t, int32_t)

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

// What cuBLAS leaves to cublasLt.
template <class In, class Out>
constexpr bool BY_CUBLASLT_ALONE = false;
#define LADDER_DEFINE(In, Out, Sum) \
  template <>                       \
  inline constexpr bool BY_CUBLASLT_ALONE<In, Out> = true;
LADDER_CUBLASLT_FORMATS(LADDER_DEFINE)
#undef LADDER_DEFINE

// What --type calls them: by A and B, but for int8 whose sums are C.
template <class In, class Out>
constexpr const char* TYPE_NAME = Number<In>::NAME;
template <>
inline constexpr const char* TYPE_NAME<int8_t, int32_t> = "int32";

// Elements in 16 bytes: leading dimensions are multiples of it.
template <class T>
constexpr int PER_16_BYTES = 16 / static_cast<int>(sizeof(T));

}  // namespace ladder::harness
