#pragma once
// CUDA's device functions for half and bfloat16, and for two of them, by way of float. Included by
// cuda_fp16.h and cuda_bf16.h, each of which has its own rounding.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "arithmetic.h"

namespace cpu_device {

template <class T>
inline constexpr bool IS_SIXTEEN_BITS = false;
template <class T>
inline constexpr bool IS_PAIR = false;
template <class T>
using IfSixteenBits = std::enable_if_t<IS_SIXTEEN_BITS<T>>;
template <class T>
using IfPair = std::enable_if_t<IS_PAIR<T>>;

// sum + rest, of which a number with fewer bits can be made as if the float were exact: what it
// cannot hold is cut, and its last bit is 1 then ("to odd").
inline float to_odd(double sum, double rest = 0) {
  const auto nearest = static_cast<float>(sum);
  if (!std::isfinite(sum)) return nearest;
  const double lost = sum - nearest + rest;
  if (lost == 0) return nearest;
  auto bits = bits_as<uint32_t>(nearest);
  if (std::signbit(lost) != std::signbit(nearest)) --bits;  // it was rounded away from zero
  return bits_as<float>(bits | 1);
}

inline float multiply_add(float a, float b, float c) {
  const double product = double{a} * b, sum = product + c;
  const double part = sum - product;
  return to_odd(sum, (product - (sum - part)) + (c - part));
}

}  // namespace cpu_device

// NAME of one, and PAIR_NAME of two.
#define LADDER_OF_TWO(NAME, PAIR_NAME, ...)                           \
  template <class T, class = cpu_device::IfSixteenBits<T>>            \
  inline T NAME(T a, T b) {                                           \
    const float x = static_cast<float>(a), y = static_cast<float>(b); \
    return T(__VA_ARGS__);                                            \
  }                                                                   \
  template <class P, class = cpu_device::IfPair<P>>                   \
  inline P PAIR_NAME(P a, P b) {                                      \
    return P(NAME(a.x, b.x), NAME(a.y, b.y));                         \
  }
LADDER_OF_TWO(__hadd, __hadd2, x + y)
LADDER_OF_TWO(__hsub, __hsub2, x - y)
LADDER_OF_TWO(__hmul, __hmul2, x* y)
LADDER_OF_TWO(__hadd_rn, __hadd2_rn, x + y)
LADDER_OF_TWO(__hsub_rn, __hsub2_rn, x - y)
LADDER_OF_TWO(__hmul_rn, __hmul2_rn, x* y)
LADDER_OF_TWO(__hadd_sat, __hadd2_sat, std::fmin(std::fmax(x + y, 0.0f), 1.0f))
LADDER_OF_TWO(__hsub_sat, __hsub2_sat, std::fmin(std::fmax(x - y, 0.0f), 1.0f))
LADDER_OF_TWO(__hmul_sat, __hmul2_sat, std::fmin(std::fmax(x* y, 0.0f), 1.0f))
LADDER_OF_TWO(__hdiv, __h2div, x / y)
LADDER_OF_TWO(__hmax, __hmax2, std::fmax(x, y))
LADDER_OF_TWO(__hmin, __hmin2, std::fmin(x, y))
LADDER_OF_TWO(__hmax_nan, __hmax2_nan, cpu_device::unless_nan(x, y, std::fmax(x, y)))
LADDER_OF_TWO(__hmin_nan, __hmin2_nan, cpu_device::unless_nan(x, y, std::fmin(x, y)))
#undef LADDER_OF_TWO

#define LADDER_OF_ONE(NAME, PAIR_NAME, ...)                \
  template <class T, class = cpu_device::IfSixteenBits<T>> \
  inline T NAME(T a) {                                     \
    const float x = static_cast<float>(a);                 \
    return T(__VA_ARGS__);                                 \
  }                                                        \
  template <class P, class = cpu_device::IfPair<P>>        \
  inline P PAIR_NAME(P a) {                                \
    return P(NAME(a.x), NAME(a.y));                        \
  }
LADDER_OF_ONE(__hneg, __hneg2, -x)
LADDER_OF_ONE(__habs, __habs2, std::fabs(x))
LADDER_OF_ONE(hsqrt, h2sqrt, std::sqrt(x))
LADDER_OF_ONE(hrsqrt, h2rsqrt, 1 / std::sqrt(x))
LADDER_OF_ONE(hrcp, h2rcp, 1 / x)
LADDER_OF_ONE(hexp, h2exp, std::exp(x))
LADDER_OF_ONE(hexp2, h2exp2, std::exp2(x))
LADDER_OF_ONE(hlog, h2log, std::log(x))
LADDER_OF_ONE(hlog2, h2log2, std::log2(x))
LADDER_OF_ONE(hsin, h2sin, std::sin(x))
LADDER_OF_ONE(hcos, h2cos, std::cos(x))
LADDER_OF_ONE(hfloor, h2floor, std::floor(x))
LADDER_OF_ONE(hceil, h2ceil, std::ceil(x))
LADDER_OF_ONE(htrunc, h2trunc, std::trunc(x))
LADDER_OF_ONE(hrint, h2rint, std::nearbyint(x))
#undef LADDER_OF_ONE

#define LADDER_MULTIPLY_ADD(NAME, PAIR_NAME, ...)                                          \
  template <class T, class = cpu_device::IfSixteenBits<T>>                                 \
  inline T NAME(T a, T b, T c) {                                                           \
    const float x = cpu_device::multiply_add(static_cast<float>(a), static_cast<float>(b), \
                                             static_cast<float>(c));                       \
    return T(__VA_ARGS__);                                                                 \
  }                                                                                        \
  template <class P, class = cpu_device::IfPair<P>>                                        \
  inline P PAIR_NAME(P a, P b, P c) {                                                      \
    return P(NAME(a.x, b.x, c.x), NAME(a.y, b.y, c.y));                                    \
  }
LADDER_MULTIPLY_ADD(__hfma, __hfma2, x)
LADDER_MULTIPLY_ADD(__hfma_relu, __hfma2_relu, x < 0 ? 0.0f : x)
LADDER_MULTIPLY_ADD(__hfma_sat, __hfma2_sat, std::fmin(std::fmax(x, 0.0f), 1.0f))
#undef LADDER_MULTIPLY_ADD

// As an operator too. Of two: 1 or 0 each.
#define LADDER_COMPARISON(NAME, OPERATOR)                        \
  template <class T, class = cpu_device::IfSixteenBits<T>>       \
  inline bool NAME(T a, T b) {                                   \
    return static_cast<float>(a) OPERATOR static_cast<float>(b); \
  }                                                              \
  template <class T, class = cpu_device::IfSixteenBits<T>>       \
  inline bool operator OPERATOR(T a, T b) {                      \
    return NAME(a, b);                                           \
  }                                                              \
  template <class P, class = cpu_device::IfPair<P>>              \
  inline P NAME##2(P a, P b) {                                   \
    return P(NAME(a.x, b.x), NAME(a.y, b.y));                    \
  }
LADDER_COMPARISON(__heq, ==)
LADDER_COMPARISON(__hne, !=)
LADDER_COMPARISON(__hlt, <)
LADDER_COMPARISON(__hle, <=)
LADDER_COMPARISON(__hgt, >)
LADDER_COMPARISON(__hge, >=)
#undef LADDER_COMPARISON

template <class T, class = cpu_device::IfSixteenBits<T>>
inline bool __hisnan(T a) {
  return std::isnan(static_cast<float>(a));
}
template <class T, class = cpu_device::IfSixteenBits<T>>
inline int __hisinf(T a) {
  const float x = static_cast<float>(a);
  return std::isinf(x) ? (x < 0 ? -1 : 1) : 0;
}

#define LADDER_OPERATOR(OPERATOR, NAME, PAIR_NAME)                           \
  template <class T, class = cpu_device::IfSixteenBits<T>>                   \
  inline T operator OPERATOR(T a, T b) {                                     \
    return NAME(a, b);                                                       \
  }                                                                          \
  template <class T, class = cpu_device::IfSixteenBits<T>>                   \
  inline __attribute__((always_inline)) T& operator OPERATOR##=(T& a, T b) { \
    return a = NAME(a, b);                                                   \
  }                                                                          \
  template <class P, cpu_device::IfPair<P>* = nullptr>                       \
  inline P operator OPERATOR(P a, P b) {                                     \
    return PAIR_NAME(a, b);                                                  \
  }                                                                          \
  template <class P, cpu_device::IfPair<P>* = nullptr>                       \
  inline __attribute__((always_inline)) P& operator OPERATOR##=(P& a, P b) { \
    return a = PAIR_NAME(a, b);                                              \
  }
LADDER_OPERATOR(+, __hadd, __hadd2)
LADDER_OPERATOR(-, __hsub, __hsub2)
LADDER_OPERATOR(*, __hmul, __hmul2)
LADDER_OPERATOR(/, __hdiv, __h2div)
#undef LADDER_OPERATOR
template <class T, class = cpu_device::IfSixteenBits<T>>
inline T operator-(T a) {
  return __hneg(a);
}

// --- Conversions --------------------------------------------------------------------------------

// For a type with CUDA's part of a name for it, and of two with theirs.
#define LADDER_SIXTEEN_BITS(T, name, P, pair)                                      \
  template <>                                                                      \
  inline constexpr bool cpu_device::IS_SIXTEEN_BITS<T> = true;                     \
  template <>                                                                      \
  inline constexpr bool cpu_device::IS_PAIR<P> = true;                             \
  inline T __float2##name##_rn(float x) {                                          \
    return __float2##name(x);                                                      \
  }                                                                                \
  inline T __float2##name##_rz(float x) {                                          \
    T nearest(x);                                                                  \
    if (std::fabs(static_cast<float>(nearest)) > std::fabs(x)) --nearest.bits;     \
    return nearest;                                                                \
  }                                                                                \
  inline T __double2##name(double x) {                                             \
    return T(cpu_device::to_odd(x));                                               \
  }                                                                                \
  inline T __int2##name##_rn(int x) {                                              \
    return __double2##name(x);                                                     \
  }                                                                                \
  inline T __uint2##name##_rn(unsigned x) {                                        \
    return __double2##name(x);                                                     \
  }                                                                                \
  inline int __##name##2int_rn(T x) {                                              \
    return cpu_device::to_integer<int>(static_cast<float>(x), FE_TONEAREST);       \
  }                                                                                \
  inline int __##name##2int_rz(T x) {                                              \
    return cpu_device::to_integer<int>(static_cast<float>(x), FE_TOWARDZERO);      \
  }                                                                                \
  inline unsigned __##name##2uint_rz(T x) {                                        \
    return cpu_device::to_integer<unsigned>(static_cast<float>(x), FE_TOWARDZERO); \
  }                                                                                \
  inline unsigned short __##name##_as_ushort(T x) {                                \
    return x.bits;                                                                 \
  }                                                                                \
  inline short __##name##_as_short(T x) {                                          \
    return static_cast<short>(x.bits);                                             \
  }                                                                                \
  inline T __short_as_##name(short bits) {                                         \
    return __ushort_as_##name(static_cast<unsigned short>(bits));                  \
  }                                                                                \
  inline P __halves2##pair(T x, T y) {                                             \
    return P(x, y);                                                                \
  }                                                                                \
  inline P make_##pair(T x, T y) {                                                 \
    return P(x, y);                                                                \
  }                                                                                \
  inline P __##name##2##pair(T x) {                                                \
    return P(x, x);                                                                \
  }                                                                                \
  inline P __floats2##pair##_rn(float x, float y) {                                \
    return P(T(x), T(y));                                                          \
  }                                                                                \
  inline P __float2##pair##_rn(float x) {                                          \
    return P(T(x), T(x));                                                          \
  }                                                                                \
  inline P __float22##pair##_rn(float2 v) {                                        \
    return P(T(v.x), T(v.y));                                                      \
  }                                                                                \
  inline float2 __##pair##2float2(P v) {                                           \
    return {static_cast<float>(v.x), static_cast<float>(v.y)};                     \
  }                                                                                \
  inline float __low2float(P v) {                                                  \
    return static_cast<float>(v.x);                                                \
  }                                                                                \
  inline float __high2float(P v) {                                                 \
    return static_cast<float>(v.y);                                                \
  }                                                                                \
  inline T __low2##name(P v) {                                                     \
    return v.x;                                                                    \
  }                                                                                \
  inline T __high2##name(P v) {                                                    \
    return v.y;                                                                    \
  }                                                                                \
  inline P __low2##pair(P v) {                                                     \
    return P(v.x, v.x);                                                            \
  }                                                                                \
  inline P __high2##pair(P v) {                                                    \
    return P(v.y, v.y);                                                            \
  }                                                                                \
  inline P __lows2##pair(P a, P b) {                                               \
    return P(a.x, b.x);                                                            \
  }                                                                                \
  inline P __highs2##pair(P a, P b) {                                              \
    return P(a.y, b.y);                                                            \
  }                                                                                \
  inline P __lowhigh2highlow(P v) {                                                \
    return P(v.y, v.x);                                                            \
  }
