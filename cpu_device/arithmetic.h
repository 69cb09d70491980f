#pragma once
// CUDA's device functions that touch no memory: integers, floats with a rounding mode, conversions.
// Included by cuda_runtime.h. What is exact on a GPU is here; what is an approximation there, as
// __expf, is the nearest number here.
#include <math.h>  // abs, sqrt, isnan, ... of floats in the global namespace, too
#include <stdlib.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "include/vector_types.h"

namespace cpu_device {

template <class To, class From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(static_cast<void*>(&to), &from, sizeof to);
  return to;
}

// What was chosen of x and y; NaN where one of them is.
inline float unless_nan(float x, float y, float chosen) {
  return std::isnan(x) || std::isnan(y) ? x + y : chosen;
}

class Rounding {
 public:
  explicit Rounding(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~Rounding() { std::fesetround(before_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  int before_;
};

// A number of which the compiler knows nothing: it knows no rounding modes either, and would move
// arithmetic from one to another.
template <class T>
class Opaque {
 public:
  Opaque(T value) : value_(value) {}
  operator T() const {
    T value = value_;
    asm volatile("" : "+m"(value));
    return value;
  }

 private:
  T value_;
};

// What is too large becomes the largest. NaN is 0, but for 64 bits or a double the highest bit.
template <class To, class From>
inline To to_integer(From x, int mode) {
  if (std::isnan(x))
    return sizeof(To) == 8 || sizeof(From) == 8 ? To(uint64_t{1} << (8 * sizeof(To) - 1)) : 0;
  const Rounding rounding(mode);
  const From rounded = Opaque<From>(std::nearbyint(From(Opaque<From>(x))));
  const From end = std::ldexp(From(1), std::numeric_limits<To>::digits);
  if (rounded >= end) return std::numeric_limits<To>::max();
  if (rounded < -end || (std::is_unsigned_v<To> && rounded < 0))
    return std::numeric_limits<To>::min();
  return static_cast<To>(rounded);
}

}  // namespace cpu_device

// --- Integers ---------------------------------------------------------------------------------

inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long reversed = 0;
  for (int i = 0; i < 64; ++i) reversed |= (x >> i & 1) << (63 - i);
  return reversed;
}
inline unsigned __brev(unsigned x) {
  return static_cast<unsigned>(__brevll(x) >> 32);
}
// Byte i of the result is the one of y:x that hexadecimal digit i of `selector` names; with its
// fourth bit, that one's sign eight times.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t both = uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned byte = both >> 8 * (selector >> 4 * i & 7) & 0xFF;
    result |= byte << 8 * i;
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline int __mulhi(int a, int b) {
  return static_cast<int>(int64_t{a} * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(uint64_t{a} * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xFFFFFF) * (b & 0xFFFFFF);
}
inline int __mul24(int a, int b) {
  const auto low = [](int x) {
    return static_cast<int64_t>(static_cast<int>(static_cast<unsigned>(x) << 8) >> 8);
  };
  return static_cast<int>(low(a) * low(b));
}
inline unsigned __usad(unsigned a, unsigned b, unsigned sum) {
  return std::max(a, b) - std::min(a, b) + sum;
}
inline unsigned __sad(int a, int b, unsigned sum) {
  return static_cast<unsigned>(std::abs(int64_t{a} - b)) + sum;
}
inline int __hadd(int a, int b) {
  return static_cast<int>((int64_t{a} + b) >> 1);
}
inline int __rhadd(int a, int b) {
  return static_cast<int>((int64_t{a} + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((uint64_t{a} + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((uint64_t{a} + b + 1) >> 1);
}

namespace cpu_device {
// The sum of COUNT products of A's and B's, which lie side by side in a and b.
template <class A, class B, int COUNT, class Sum>
inline Sum dot(uint32_t a, uint32_t b, Sum sum) {
  for (int i = 0; i < COUNT; ++i)
    sum = static_cast<Sum>(
        static_cast<uint32_t>(sum) +
        static_cast<uint32_t>(static_cast<int>(static_cast<A>(a >> i * 8 * sizeof(A))) *
                              static_cast<int>(static_cast<B>(b >> i * 8 * sizeof(B)))));
  return sum;
}
}  // namespace cpu_device
inline int __dp4a(int a, int b, int sum) {
  return cpu_device::dot<int8_t, int8_t, 4>(static_cast<uint32_t>(a), static_cast<uint32_t>(b),
                                            sum);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  return cpu_device::dot<uint8_t, uint8_t, 4>(a, b, sum);
}
inline int __dp4a(char4 a, char4 b, int sum) {
  return __dp4a(cpu_device::bits_as<int>(a.whole), cpu_device::bits_as<int>(b.whole), sum);
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned sum) {
  return __dp4a(cpu_device::bits_as<unsigned>(a.whole), cpu_device::bits_as<unsigned>(b.whole),
                sum);
}
inline int __dp2a_lo(int a, int b, int sum) {
  return cpu_device::dot<int16_t, int8_t, 2>(static_cast<uint32_t>(a), static_cast<uint32_t>(b),
                                             sum);
}
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned sum) {
  return cpu_device::dot<uint16_t, uint8_t, 2>(a, b, sum);
}
inline int __dp2a_hi(int a, int b, int sum) {
  return __dp2a_lo(a, static_cast<int>(static_cast<unsigned>(b) >> 16), sum);
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned sum) {
  return __dp2a_lo(a, b >> 16, sum);
}

// --- The smaller, the larger ------------------------------------------------------------------

using std::max;
using std::min;
// A number wins over NaN.
#define LADDER_MIN_MAX(A, B, Result, smaller, larger)               \
  inline Result min(A a, B b) {                                     \
    return smaller(static_cast<Result>(a), static_cast<Result>(b)); \
  }                                                                 \
  inline Result max(A a, B b) {                                     \
    return larger(static_cast<Result>(a), static_cast<Result>(b));  \
  }
LADDER_MIN_MAX(float, float, float, std::fmin, std::fmax)
LADDER_MIN_MAX(double, double, double, std::fmin, std::fmax)
LADDER_MIN_MAX(float, double, double, std::fmin, std::fmax)
LADDER_MIN_MAX(double, float, double, std::fmin, std::fmax)
LADDER_MIN_MAX(int, unsigned, unsigned, std::min, std::max)
LADDER_MIN_MAX(unsigned, int, unsigned, std::min, std::max)
LADDER_MIN_MAX(long, unsigned long, unsigned long, std::min, std::max)
LADDER_MIN_MAX(unsigned long, long, unsigned long, std::min, std::max)
LADDER_MIN_MAX(long long, unsigned long long, unsigned long long, std::min, std::max)
LADDER_MIN_MAX(unsigned long long, long long, unsigned long long, std::min, std::max)
#undef LADDER_MIN_MAX
#define LADDER_MIN_MAX(T, name)  \
  inline T name##min(T a, T b) { \
    return std::min(a, b);       \
  }                              \
  inline T name##max(T a, T b) { \
    return std::max(a, b);       \
  }
LADDER_MIN_MAX(unsigned, u)
LADDER_MIN_MAX(long long, ll)
LADDER_MIN_MAX(unsigned long long, ull)
#undef LADDER_MIN_MAX

// --- Bits ---------------------------------------------------------------------------------------

#define LADDER_BITS(name, From, To)    \
  inline To name(From x) {             \
    return cpu_device::bits_as<To>(x); \
  }
LADDER_BITS(__float_as_int, float, int)
LADDER_BITS(__float_as_uint, float, unsigned)
LADDER_BITS(__int_as_float, int, float)
LADDER_BITS(__uint_as_float, unsigned, float)
LADDER_BITS(__double_as_longlong, double, long long)
LADDER_BITS(__longlong_as_double, long long, double)
#undef LADDER_BITS
inline int __double2hiint(double x) {
  return static_cast<int>(__double_as_longlong(x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(__double_as_longlong(x));
}
inline double __hiloint2double(int high, int low) {
  return cpu_device::bits_as<double>(uint64_t{static_cast<unsigned>(high)} << 32 |
                                     static_cast<unsigned>(low));
}

// --- With a rounding mode -----------------------------------------------------------------------

#define LADDER_ONE_ROUNDING(T, name, parameters, mode, ...) \
  inline T name parameters {                                \
    const cpu_device::Rounding rounding(mode);              \
    return cpu_device::Opaque<T>(__VA_ARGS__);              \
  }
#define LADDER_ROUNDINGS(T, name, parameters, ...)                          \
  inline T name##_rn parameters {                                           \
    return __VA_ARGS__;                                                     \
  }                                                                         \
  LADDER_ONE_ROUNDING(T, name##_rz, parameters, FE_TOWARDZERO, __VA_ARGS__) \
  LADDER_ONE_ROUNDING(T, name##_ru, parameters, FE_UPWARD, __VA_ARGS__)     \
  LADDER_ONE_ROUNDING(T, name##_rd, parameters, FE_DOWNWARD, __VA_ARGS__)
#define LADDER_OPERATIONS(T, letter, multiply_add)                                                \
  LADDER_ROUNDINGS(T, __##letter##add, (cpu_device::Opaque<T> a, cpu_device::Opaque<T> b), a + b) \
  LADDER_ROUNDINGS(T, __##letter##sub, (cpu_device::Opaque<T> a, cpu_device::Opaque<T> b), a - b) \
  LADDER_ROUNDINGS(T, __##letter##mul, (cpu_device::Opaque<T> a, cpu_device::Opaque<T> b), a* b)  \
  LADDER_ROUNDINGS(T, __##letter##div, (cpu_device::Opaque<T> a, cpu_device::Opaque<T> b), a / b) \
  LADDER_ROUNDINGS(T, __##letter##rcp, (cpu_device::Opaque<T> a), 1 / a)                          \
  LADDER_ROUNDINGS(T, __##letter##sqrt, (cpu_device::Opaque<T> a), std::sqrt(T(a)))               \
  LADDER_ROUNDINGS(T, multiply_add,                                                               \
                   (cpu_device::Opaque<T> a, cpu_device::Opaque<T> b, cpu_device::Opaque<T> c),   \
                   std::fma(T(a), T(b), T(c)))
LADDER_OPERATIONS(float, f, __fmaf)
LADDER_OPERATIONS(double, d, __fma)
LADDER_ROUNDINGS(float, __double2float, (cpu_device::Opaque<double> x), static_cast<float>(x))
LADDER_ROUNDINGS(float, __int2float, (cpu_device::Opaque<int> x), static_cast<float>(x))
LADDER_ROUNDINGS(float, __uint2float, (cpu_device::Opaque<unsigned> x), static_cast<float>(x))
LADDER_ROUNDINGS(float, __ll2float, (cpu_device::Opaque<long long> x), static_cast<float>(x))
LADDER_ROUNDINGS(float, __ull2float, (cpu_device::Opaque<unsigned long long> x),
                 static_cast<float>(x))
LADDER_ROUNDINGS(double, __ll2double, (cpu_device::Opaque<long long> x), static_cast<double>(x))
LADDER_ROUNDINGS(double, __ull2double, (cpu_device::Opaque<unsigned long long> x),
                 static_cast<double>(x))
#undef LADDER_OPERATIONS
#undef LADDER_ROUNDINGS
#undef LADDER_ONE_ROUNDING
inline float __frsqrt_rn(float x) {
  return static_cast<float>(1 / std::sqrt(double{x}));
}
inline double __int2double_rn(int x) {
  return x;
}
inline double __uint2double_rn(unsigned x) {
  return x;
}
#define LADDER_TO_INTEGER(From, To, name)                \
  inline To name##_rn(From x) {                          \
    return cpu_device::to_integer<To>(x, FE_TONEAREST);  \
  }                                                      \
  inline To name##_rz(From x) {                          \
    return cpu_device::to_integer<To>(x, FE_TOWARDZERO); \
  }                                                      \
  inline To name##_ru(From x) {                          \
    return cpu_device::to_integer<To>(x, FE_UPWARD);     \
  }                                                      \
  inline To name##_rd(From x) {                          \
    return cpu_device::to_integer<To>(x, FE_DOWNWARD);   \
  }
LADDER_TO_INTEGER(float, int, __float2int)
LADDER_TO_INTEGER(float, unsigned, __float2uint)
LADDER_TO_INTEGER(float, long long, __float2ll)
LADDER_TO_INTEGER(float, unsigned long long, __float2ull)
LADDER_TO_INTEGER(double, int, __double2int)
LADDER_TO_INTEGER(double, unsigned, __double2uint)
LADDER_TO_INTEGER(double, long long, __double2ll)
LADDER_TO_INTEGER(double, unsigned long long, __double2ull)
#undef LADDER_TO_INTEGER

// --- Functions ----------------------------------------------------------------------------------

#define LADDER_ONE(T)   T x
#define LADDER_TWO(T)   T x, T y
#define LADDER_THREE(T) T x, T y, T z
#define LADDER_FUNCTION(name, PARAMETERS, ...)       \
  inline double name(PARAMETERS(double)) noexcept {  \
    return __VA_ARGS__;                              \
  }                                                  \
  inline float name##f(PARAMETERS(float)) noexcept { \
    return static_cast<float>(__VA_ARGS__);          \
  }
extern "C" {  // as newer C libraries have some of these
LADDER_FUNCTION(rsqrt, LADDER_ONE, 1 / std::sqrt(double{x}))
LADDER_FUNCTION(rcbrt, LADDER_ONE, 1 / std::cbrt(double{x}))
LADDER_FUNCTION(sinpi, LADDER_ONE, std::sin(M_PI* std::fmod(double{x}, 2.0)))
LADDER_FUNCTION(cospi, LADDER_ONE, std::cos(M_PI* std::fmod(double{x}, 2.0)))
LADDER_FUNCTION(normcdf, LADDER_ONE, std::erfc(-double{x} * M_SQRT1_2) / 2)
LADDER_FUNCTION(rhypot, LADDER_TWO, 1 / std::hypot(double{x}, double{y}))
LADDER_FUNCTION(norm3d, LADDER_THREE, std::hypot(double{x}, double{y}, double{z}))
LADDER_FUNCTION(rnorm3d, LADDER_THREE, 1 / std::hypot(double{x}, double{y}, double{z}))
}
#undef LADDER_FUNCTION
#undef LADDER_ONE
#undef LADDER_TWO
#undef LADDER_THREE
inline float rsqrt(float x) {
  return rsqrtf(x);
}
inline float rcbrt(float x) {
  return rcbrtf(x);
}
inline float __saturatef(float x) {
  return x > 0 ? std::fmin(x, 1.0f) : 0.0f;  // of NaN 0
}
inline float fdividef(float x, float y) {
  return x / y;
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float __powf(float x, float y) {
  return std::pow(x, y);
}
#define LADDER_FAST(name)             \
  inline float __##name##f(float x) { \
    return ::name##f(x);              \
  }
LADDER_FAST(exp)
LADDER_FAST(exp10)
LADDER_FAST(log)
LADDER_FAST(log2)
LADDER_FAST(log10)
LADDER_FAST(sin)
LADDER_FAST(cos)
LADDER_FAST(tan)
#undef LADDER_FAST
inline __attribute__((always_inline)) void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}
