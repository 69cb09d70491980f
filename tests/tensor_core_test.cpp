// What the CPU device's tensor cores compute: rule by rule, and against a GPU.
#include "cpu_device/tensor_core.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "cpu_device/include/cuda_bf16.h"
#include "cpu_device/include/cuda_fp8.h"
#include "probes/tensor_cases.h"

namespace cpu_device {
namespace {

using namespace ladder::tensor_cases;

struct Product {
  double a, b;
};

// c and up to 16 products, as the bits of the sum's float.
float sum(const std::vector<Product>& products, float c = 0) {
  uint16_t a[STEP] = {}, b[8 * STEP] = {};
  float d[8] = {c};
  for (size_t k = 0; k < products.size(); ++k) {
    a[k] = half_of(products[k].a);
    b[k] = half_of(products[k].b);
    EXPECT_EQ(value_of(a[k]), products[k].a);
    EXPECT_EQ(value_of(b[k]), products[k].b);
  }
  tensor_core_multiply(a, b, d, 1, 8, STEP);
  return d[0];
}
uint32_t bits(float x) {
  return bits_as<uint32_t>(x);
}

TEST(TensorCore, OneSumWithoutAnOrder) {
  // Added one after the other, 1 would be lost beside 2^28.
  for (int big = 0; big < 16; ++big)
    for (int cancels = 0; cancels < 16; ++cancels) {
      if (big == cancels) continue;
      std::vector<Product> products(16, {1, 8});
      products[big] = {16384, 16384};
      products[cancels] = {16384, -16384};
      EXPECT_EQ(sum(products), 14 * 8);
    }
  EXPECT_EQ(sum({{16384, 16384}, {1, 8}}, -0x1p28f), 8);
}

TEST(TensorCore, KeepsTwentyFiveBitsAfterTheFirst) {
  EXPECT_EQ(sum({{1, 1}, {-1, 1}, {0x1p-12, 0x1p-13}}), 0x1p-25f);
  EXPECT_EQ(sum({{1, 1}, {-1, 1}, {0x1p-13, 0x1p-13}}), 0);
  EXPECT_EQ(sum({{-1, 1}, {0x1p-12, 0x1p-13}}, 1), 0x1p-25f);
  EXPECT_EQ(sum({{-1, 1}, {0x1p-13, 0x1p-13}}, 1), 0);
  EXPECT_EQ(sum({{1, 1}, {-1, 1}}, 0x1p-25f), 0x1p-25f);
  EXPECT_EQ(sum({{1, 1}, {-1, 1}}, 0x1.FFFFFEp-26f), 0);
}

TEST(TensorCore, CutsEachNumberTowardsZeroBeforeItAdds) {
  std::vector<Product> products(16, {0x1p-13, 0x1p-13});
  products[0] = {1, 1}, products[1] = {1, -1};
  EXPECT_EQ(sum(products), 0);  // although 14 * 2^-26 is more than 2^-25
  EXPECT_EQ(sum({{1, 1}, {1, -1}, {0x1.8p-12, 0x1p-13}}), 0x1p-25f);
  EXPECT_EQ(sum({{1, 1}, {1, -1}, {-0x1.8p-12, 0x1p-13}}), -0x1p-25f);
  EXPECT_EQ(sum({{1, 1}, {1, -1}, {0x1.FFCp-12, 0x1p-13}}), 0x1p-25f);
}

TEST(TensorCore, CutsTheSumTowardsZeroToAFloat) {
  EXPECT_EQ(sum({{1, 1}, {0x1.8p-12, 0x1p-12}}), 1);
  EXPECT_EQ(sum({{-1, 1}, {-0x1.8p-12, 0x1p-12}}), -1);
  EXPECT_EQ(sum({{1, 1}, {-0x1p-12, 0x1p-13}}), 0x1.FFFFFEp-1f);
  EXPECT_EQ(sum({{1, 1}, {-0x1p-13, 0x1p-13}}), 1);  // is lost before it is subtracted
  // The bits lost at the end are more where the sum carries.
  EXPECT_EQ(sum(std::vector<Product>(16, {0x1.FFCp15, 0x1.FFCp15})), 0x1.FF8008p35f);
}

TEST(TensorCore, AProductsExponentIsTheSumOfItsFactors) {
  EXPECT_EQ(sum({{1.5, 1.5}, {-1.5, 1.5}, {0x1p-12, 0x1p-13}}), 0x1p-25f);
  EXPECT_EQ(sum({{2, 1}, {-2, 1}, {0x1p-12, 0x1p-13}}), 0);
  // Of a subnormal half -14, whatever its first bit.
  EXPECT_EQ(sum({{0x1p-24, 1}, {0x1p-20, 0x1p-19}}), 0x1p-24f + 0x1p-39f);
  EXPECT_EQ(sum({{0x1p-24, 1}, {0x1p-20, 0x1p-20}}), 0x1p-24f);
}

TEST(TensorCore, ZerosHaveNoExponent) {
  EXPECT_EQ(sum({{0, 32768}, {0x1p-20, 0x1p-20}}), 0x1p-40f);
  EXPECT_EQ(sum({{0, 32768}}, 0x1.FFFFFEp-40f), 0x1.FFFFFEp-40f);
}

TEST(TensorCore, KeepsSubnormalSumsAndLargeOnes) {
  EXPECT_EQ(bits(sum({}, bits_as<float>(0x00000001))), 0x00000001u);
  EXPECT_EQ(bits(sum({{0, 1}}, bits_as<float>(0x807FFFFF))), 0x807FFFFFu);
  EXPECT_EQ(sum({{0x1p-24, 0x1p-24}}, 0x1p-149f), 0x1p-48f);
  EXPECT_EQ(sum({{65504, 65504}}, 0x1.FFFFFEp127f), 0x1.FFFFFEp127f);
  EXPECT_EQ(sum({{65504, -65504}}, 0x1.FFFFFEp127f), 0x1.FFFFFEp127f);
}

TEST(TensorCore, ASumOfZeroIsPositive) {
  EXPECT_EQ(bits(sum({}, -0.0f)), 0u);
  EXPECT_EQ(bits(sum(std::vector<Product>(16, {-0.0, 1}), -0.0f)), 0u);
  EXPECT_EQ(bits(sum({{-1, 1}}, 1)), 0u);
}

TEST(TensorCore, HasOneNaN) {
  constexpr uint32_t NAN_BITS = 0x7FFFFFFF;
  for (const float c : {0.0f, 1.0f, INFINITY}) {
    EXPECT_EQ(bits(sum({{INFINITY, 0}}, c)), NAN_BITS);
    EXPECT_EQ(bits(sum({{INFINITY, 1}, {1, -INFINITY}}, c)), NAN_BITS);
  }
  EXPECT_EQ(bits(sum({{INFINITY, 1}}, -INFINITY)), NAN_BITS);
  for (const uint32_t nan : {0x7FC00000u, 0xFFC00001u, 0x7F800001u})
    EXPECT_EQ(bits(sum({{1, 1}}, bits_as<float>(nan))), NAN_BITS);
  for (const uint16_t nan : {0x7E00, 0xFE01, 0x7C01}) {
    uint16_t a[STEP] = {nan}, b[8 * STEP] = {};
    float d[8] = {};
    tensor_core_multiply(a, b, d, 1, 8, STEP);
    for (const float x : d) EXPECT_EQ(bits(x), NAN_BITS);
  }
}

TEST(TensorCore, KeepsInfinity) {
  EXPECT_EQ(sum({{INFINITY, 1}, {1, 1}}, 1), INFINITY);
  EXPECT_EQ(sum({{-INFINITY, 1}, {1, 1}}, -INFINITY), -INFINITY);
  EXPECT_EQ(sum({{1, 1}}, -INFINITY), -INFINITY);
}

// The same of bf16.
float sum_of_bf16(const std::vector<Product>& products, float c = 0) {
  uint16_t a[STEP] = {}, b[8 * STEP] = {};
  float d[8] = {c};
  for (size_t k = 0; k < products.size(); ++k) {
    const auto x = __float2bfloat16(static_cast<float>(products[k].a)),
               y = __float2bfloat16(static_cast<float>(products[k].b));
    if (std::isfinite(products[k].a)) {
      EXPECT_EQ(__bfloat162float(x), products[k].a);
      EXPECT_EQ(__bfloat162float(y), products[k].b);
    }
    a[k] = x.bits, b[k] = y.bits;
  }
  tensor_core_multiply_bf16(a, b, d, 1, 8, STEP);
  return d[0];
}

TEST(TensorCoreBf16, AddsAsWithHalves) {
  std::vector<Product> products(16, {1, 8});
  products[3] = {16384, 16384}, products[9] = {16384, -16384};
  EXPECT_EQ(sum_of_bf16(products), 14 * 8);
  EXPECT_EQ(sum_of_bf16({{1, 1}, {-1, 1}, {0x1p-12, 0x1p-13}}), 0x1p-25f);
  EXPECT_EQ(sum_of_bf16({{1, 1}, {-1, 1}, {0x1p-13, 0x1p-13}}), 0);
  EXPECT_EQ(sum_of_bf16({{1.5, 1.5}, {-1.5, 1.5}, {0x1p-12, 0x1p-13}}), 0x1p-25f);
  EXPECT_EQ(sum_of_bf16({{1, 1}, {0x1.8p-12, 0x1p-12}}), 1);
  EXPECT_EQ(bits(sum_of_bf16({{-1, 1}}, 1)), 0u);
  EXPECT_EQ(bits(sum_of_bf16({{0, 1}}, bits_as<float>(0x807FFFFF))), 0x807FFFFFu);
}

TEST(TensorCoreBf16, HasTheExponentsOfFp32) {
  // On both sides of the exponents with which a float's are enough to add with.
  for (int e = -60; e <= 62; ++e) {
    SCOPED_TRACE(e);
    const double x = std::ldexp(1, e);
    const float one = static_cast<float>(x * x);
    EXPECT_EQ(sum_of_bf16({{x, x}, {1.5 * x, 1.5 * x}}, one), 4.25f * one);
    EXPECT_EQ(sum_of_bf16({{x, x}, {-x, x}, {0x1p-3 * x, 0x1p-3 * x}}), 0x1p-6f * one);
    EXPECT_EQ(sum_of_bf16({{x, x}, {-x, 0x1p-13 * x}, {-x, 0x1p-13 * x}}), (1 - 0x1p-12f) * one);
  }
  EXPECT_EQ(sum_of_bf16({{0x1p-70, 0x1p-70}, {0x1p-70, 0x1p-72}}), 0x1.4p-140f);
  EXPECT_EQ(sum_of_bf16({{0x1p-130, 0x1p127}, {0, 0x1p127}}), 0x1p-3f);  // of a subnormal
  EXPECT_EQ(sum_of_bf16({{0x1p100, 0x1p100}, {0x1p100, -0x1p100}, {1, 1}}), 0);
  EXPECT_EQ(sum_of_bf16({{0x1p64, 0x1p64}}), INFINITY);
}

TEST(TensorCoreBf16, NoFiniteNumber) {
  EXPECT_EQ(sum_of_bf16({{INFINITY, 1}, {0x1p100, 0x1p100}}), INFINITY);
  EXPECT_EQ(sum_of_bf16({{-INFINITY, 1}, {0x1p100, 0x1p100}}), -INFINITY);
  EXPECT_EQ(bits(sum_of_bf16({{INFINITY, 0}})), 0x7FFFFFFFu);
  EXPECT_EQ(bits(sum_of_bf16({{NAN, 0x1p100}})), 0x7FFFFFFFu);
}

TEST(TensorCore, EachElementIsItsRowTimesItsColumn) {
  constexpr unsigned m = 3, n = 16, k = 32;
  uint16_t a[m * k], b[n * k];
  float d[m * n];
  for (unsigned i = 0; i < m * k; ++i) a[i] = half_of(i % 13);
  for (unsigned i = 0; i < n * k; ++i) b[i] = half_of(i % 7);
  for (unsigned i = 0; i < m * n; ++i) d[i] = static_cast<float>(i);
  tensor_core_multiply(a, b, d, m, n, k);
  for (unsigned i = 0; i < m * n; ++i) {
    unsigned expected = i;
    for (unsigned at = 0; at < k; ++at) expected += (i / n * k + at) % 13 * ((i % n * k + at) % 7);
    EXPECT_EQ(d[i], expected);
  }
}

// The first `length` of each of 64 rows.
std::vector<uint16_t> rows_of(const std::vector<uint16_t>& matrix, int length) {
  std::vector<uint16_t> rows;
  for (auto row = matrix.begin(); row != matrix.end(); row += K)
    rows.insert(rows.end(), row, row + length);
  return rows;
}

// What a GPU printed: build/tensor_arithmetic says in which form.
TEST(TensorCore, EqualsAGpuBitForBit) {
  std::ifstream file(LADDER_TENSOR_CORE_RESULTS);
  std::string line;
  std::getline(file, line);
  ASSERT_EQ(line.rfind("# ", 0), 0u) << LADDER_TENSOR_CORE_RESULTS;
  std::getline(file, line);
  for (const Case& drawn : all()) {
    SCOPED_TRACE(drawn.name);
    ASSERT_EQ(line, fmt::format("case {:016x} {}", hash_of(drawn), drawn.name));
    const int k = drawn.steps * STEP;
    std::vector<float> d = drawn.c;
    tensor_core_multiply(rows_of(drawn.a, k).data(), rows_of(drawn.b, k).data(), d.data(), M, N, k);
    std::vector<uint32_t> ours(d.size());
    std::transform(d.begin(), d.end(), ours.begin(), bits_as<uint32_t, float>);
    // One hash, then rows; another one is of units that computed something else.
    std::getline(file, line);
    EXPECT_EQ(line.substr(0, 16), fmt::format("{:016x}", hash_of(ours))) << line;
    size_t i = 0, differ = 0;
    while (std::getline(file, line) && line.rfind("case ", 0) != 0) {
      std::istringstream row(line);
      for (uint32_t theirs; row >> std::hex >> theirs; ++i)
        if (i >= ours.size() || (ours[i] != theirs && ++differ <= 3))
          ADD_FAILURE() << fmt::format("row {}, column {}: the GPU has {:08x}, not {:08x}", i / N,
                                       i % N, theirs, i < ours.size() ? ours[i] : 0);
    }
    EXPECT_EQ(differ, 0u);
  }
}

// c and up to 32 products of numbers of 8 bits, as wgmma adds them up.
float sum_of_fp8(const std::vector<Product>& products, float c = 0) {
  constexpr unsigned FP8_STEP = 32;
  uint8_t a[FP8_STEP] = {}, b[8 * FP8_STEP] = {};
  float d[8] = {c};
  for (size_t k = 0; k < products.size(); ++k) {
    const __nv_fp8_e4m3 x(static_cast<float>(products[k].a)), y(static_cast<float>(products[k].b));
    EXPECT_EQ(static_cast<float>(x), products[k].a);
    EXPECT_EQ(static_cast<float>(y), products[k].b);
    a[k] = x.__x, b[k] = y.__x;
  }
  wgmma_multiply_fp8(a, Fp8::E4M3, b, Fp8::E4M3, d, 1, 8, FP8_STEP);
  return d[0];
}

TEST(TensorCoreFp8, OneSumOfThirtyTwo) {
  for (int big = 0; big < 32; ++big)
    for (int cancels = 0; cancels < 32; ++cancels) {
      if (big == cancels) continue;
      std::vector<Product> products(32, {1, 8});
      products[big] = {256, 256};
      products[cancels] = {256, -256};
      EXPECT_EQ(sum_of_fp8(products), 30 * 8);
    }
}

// What an H200 answered: beside 2^16 an addend keeps its bits down to 2^3, within an instruction
// and from one to the next, and the rest is cut towards zero.
TEST(TensorCoreFp8, KeepsThirteenBitsAfterTheFirst) {
  for (const float c : {0.0f, 65536.0f}) {
    const auto beside = [&](double a, double b) {
      std::vector<Product> products{{a, b}};
      if (c == 0) products.push_back({256, 256});
      return sum_of_fp8(products, c) - 65536;
    };
    EXPECT_EQ(8, beside(1, 8));
    EXPECT_EQ(8, beside(1, 15));
    EXPECT_EQ(0, beside(1, 7));
    EXPECT_EQ(16 + 8, beside(2, 15));
    EXPECT_EQ(-8, beside(-1, 15));
    EXPECT_EQ(0, beside(-1, 7));
  }
}

TEST(TensorCoreFp8, TheSumIsCutToFourteenBits) {
  EXPECT_EQ(16383, sum_of_fp8({{1, 1}}, 16382));
  EXPECT_EQ(16384, sum_of_fp8({{1, 2}}, 16383));
  EXPECT_EQ(-16384, sum_of_fp8({{-1, 2}}, -16383));
  EXPECT_EQ(16386, sum_of_fp8({{1, 3}}, 16383));
}

TEST(TensorCoreFp8, ExponentsAreSumsOfTheFactors) {
  // 1.75 * 1.75 is above 2, but counts as of exponent 0: 2^-13 is kept, as beside 1.
  EXPECT_EQ(-0x1p-13f, sum_of_fp8({{1.75, 1.75}, {-1.75, 1.75}, {-0x1p-6, 0x1p-7}}));
  EXPECT_EQ(0, sum_of_fp8({{1.75, 1.75}, {-1.75, 1.75}, {-0x1p-7, 0x1p-7}}));
  // Below 2^-6 all numbers have its exponent: beside 2^-9 squared what is kept ends at 2^-25.
  EXPECT_EQ(0x1p-18f + 0x1p-25f, sum_of_fp8({{0x1p-9, 0x1p-9}}, 0x1p-25f));
  EXPECT_EQ(0x1p-18f, sum_of_fp8({{0x1p-9, 0x1p-9}}, 0x1p-26f));
}

TEST(TensorCoreFp8, NumbersThatAreNone) {
  uint8_t a[32] = {0x3C}, b[8 * 32] = {0x3C};  // 1.5 as e4m3, 1 as e5m2
  float d[8] = {};
  wgmma_multiply_fp8(a, Fp8::E4M3, b, Fp8::E4M3, d, 1, 8, 32);
  EXPECT_EQ(2.25f, d[0]);
  d[0] = 0;
  wgmma_multiply_fp8(a, Fp8::E5M2, b, Fp8::E5M2, d, 1, 8, 32);
  EXPECT_EQ(1, d[0]);
  d[0] = 0, a[1] = 0x7C, b[1] = 0xBC;  // infinity * -1 as e5m2, 384 * -1.5 as e4m3
  wgmma_multiply_fp8(a, Fp8::E5M2, b, Fp8::E5M2, d, 1, 8, 32);
  EXPECT_EQ(-INFINITY, d[0]);
  EXPECT_EQ(0x7FFFFFFFu, bits(d[1]));  // infinity * 0
  a[1] = 0x7F;
  std::fill_n(d, 8, 0.0f);
  wgmma_multiply_fp8(a, Fp8::E4M3, b, Fp8::E4M3, d, 1, 8, 32);
  for (const float x : d) EXPECT_EQ(0x7FFFFFFFu, bits(x));
}

}  // namespace
}  // namespace cpu_device
