// fp8 and bfloat16 and back, exhaustively, on the GPU or on the CPU device: against a definition
// that looks the nearest number up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "types.cuh"

namespace ladder {
namespace {

using harness::DeviceBuffer;

// A format as its definition has it.
struct Format {
  int exponent_bits, fraction_bits;
  unsigned largest;  // the code of the largest number, which is followed by infinity and NaN
  bool saturates;    // what is beyond it becomes it

  unsigned sign() const { return 1u << (exponent_bits + fraction_bits); }
  // Of a code up to `largest`; one more is what would come next.
  double value(unsigned code) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const unsigned exponent = code >> fraction_bits;
    const double fraction = std::ldexp(code & ((1u << fraction_bits) - 1), -fraction_bits);
    return exponent == 0 ? std::ldexp(fraction, 1 - bias)
                         : std::ldexp(1 + fraction, static_cast<int>(exponent) - bias);
  }
  // The code of the nearest number, of two as near the even one.
  unsigned nearest(double x) const {
    const double magnitude = std::abs(x);
    unsigned low = 0, high = largest + 1;  // the last code at or below it, the first above it
    while (high - low > 1) {
      const unsigned middle = (low + high) / 2;
      (value(middle) <= magnitude ? low : high) = middle;
    }
    if (low < largest || !saturates) {
      const double below = magnitude - value(low), above = value(low + 1) - magnitude;
      if (above < below || (above == below && low % 2 == 1)) ++low;
    }
    return low | (std::signbit(x) ? sign() : 0);
  }
  // Every number, every middle of two, and a float's step beside each; of both signs.
  std::vector<float> cases() const {
    std::vector<float> all;
    const auto add = [&](double x) {
      const auto at = static_cast<float>(x);
      for (const float near : {std::nextafter(at, 0.0f), at, std::nextafter(at, INFINITY)})
        all.push_back(near), all.push_back(-near);
    };
    for (unsigned code = 0; code <= largest; ++code) {
      add(value(code));
      add((value(code) + value(code + 1)) / 2);
    }
    for (const float x : {INFINITY, -INFINITY, std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::denorm_min()})
      all.push_back(x);
    return all;
  }
};

template <class T>
struct Converter;
template <>
struct Converter<e4m3> {
  static constexpr Format FORMAT{4, 3, 0x7E, true};
  __device__ static e4m3 from_float(float x) { return e4m3(x); }
  __device__ static float to_float(e4m3 x) { return static_cast<float>(x); }
};
template <>
struct Converter<e5m2> {
  static constexpr Format FORMAT{5, 2, 0x7B, true};
  __device__ static e5m2 from_float(float x) { return e5m2(x); }
  __device__ static float to_float(e5m2 x) { return static_cast<float>(x); }
};
template <>
struct Converter<bf16> {
  static constexpr Format FORMAT{8, 7, 0x7F7F, false};
  __device__ static bf16 from_float(float x) { return __float2bfloat16(x); }
  __device__ static float to_float(bf16 x) { return __bfloat162float(x); }
};

template <class T>
__global__ void from_floats(const float* from, T* to, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = Converter<T>::from_float(from[i]);
}
template <class T>
__global__ void to_floats(const T* from, float* to, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = Converter<T>::to_float(from[i]);
}

template <class From, class To>
std::vector<To> converted(void (*kernel)(const From*, To*, int), const std::vector<From>& from) {
  constexpr int THREADS = 256;
  const int count = static_cast<int>(from.size());
  DeviceBuffer<From> in(from.size());
  const DeviceBuffer<To> out(from.size());
  in.upload(from);
  launch(kernel, dim3(ceil_div(count, THREADS)), dim3(THREADS), 0, nullptr, in.get(), out.get(),
         count);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<To> to(from.size());
  out.download(to);
  return to;
}

template <class T>
unsigned code_of(const T& x) {
  unsigned code = 0;
  std::memcpy(&code, &x, sizeof x);
  return code;
}

template <class T>
class Conversions : public GpuTest<80, false> {};
using Types = testing::Types<e4m3, e5m2, bf16>;
TYPED_TEST_SUITE(Conversions, Types);

TYPED_TEST(Conversions, RoundToTheNearest) {
  const Format format = Converter<TypeParam>::FORMAT;
  const std::vector<float> cases = format.cases();
  const std::vector<TypeParam> results = converted(from_floats<TypeParam>, cases);
  for (size_t i = 0; i < cases.size(); ++i) {
    const double x = cases[i];
    const unsigned expected =
        std::isinf(x) ? (format.largest + !format.saturates) | (x < 0 ? format.sign() : 0)
                      : format.nearest(x);
    ASSERT_EQ(expected, code_of(results[i])) << x;
  }
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(format.sign() - 1, code_of(converted(from_floats<TypeParam>, {not_a_number}).front()));
}

TYPED_TEST(Conversions, ExpandToFloats) {
  const Format format = Converter<TypeParam>::FORMAT;
  std::vector<TypeParam> codes(2 * format.sign());
  for (unsigned code = 0; code < codes.size(); ++code)
    std::memcpy(static_cast<void*>(&codes[code]), &code, sizeof codes[code]);
  const std::vector<float> results = converted(to_floats<TypeParam>, codes);
  const bool infinities = std::is_same_v<TypeParam, e4m3> == false;
  for (unsigned code = 0; code < codes.size(); ++code) {
    const unsigned magnitude = code % format.sign();
    const double sign = code < format.sign() ? 1 : -1;
    if (magnitude <= format.largest)
      ASSERT_EQ(sign * format.value(magnitude), results[code]) << code;
    else if (infinities && magnitude == format.largest + 1)
      ASSERT_EQ(sign * INFINITY, results[code]) << code;
    else
      ASSERT_TRUE(std::isnan(results[code])) << code;
  }
}

}  // namespace
}  // namespace ladder
