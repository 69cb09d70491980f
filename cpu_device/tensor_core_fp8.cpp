#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "include/cuda_fp8.h"
#include "tensor_core.h"

namespace cpu_device {

namespace {

constexpr unsigned STEP = 32;      // products in a sum
constexpr int KEPT_BITS = 13;      // after the first bit of the largest of a sum, and of the sum
constexpr int NO_EXPONENT = -100;  // a zero's: less than all others, and its products', too
constexpr unsigned COLUMNS = 8;    // that are added up side by side, in vector registers

// Of each of the 256 numbers of a format.
struct Numbers {
  float number[256];
  float finite[256];  // the same; 0 for an infinity or a NaN
  int32_t exponent[256];
};
template <class T>
Numbers numbers_of(int least_exponent) {
  Numbers numbers;
  for (unsigned bits = 0; bits < 256; ++bits) {
    T x;
    x.__x = static_cast<uint8_t>(bits);
    const auto number = static_cast<float>(x);
    const bool finite = std::isfinite(number);
    numbers.number[bits] = number;
    numbers.finite[bits] = finite ? number : 0;
    numbers.exponent[bits] =
        finite && number != 0 ? std::max(std::ilogb(number), least_exponent) : NO_EXPONENT;
  }
  return numbers;
}
const Numbers& numbers(Fp8 type) {
  static const Numbers E4M3 = numbers_of<__nv_fp8_e4m3>(-6), E5M2 = numbers_of<__nv_fp8_e5m2>(-14);
  return type == Fp8::E4M3 ? E4M3 : E5M2;
}

float power_of_2(int exponent) {  // of a normal number
  const auto bits = static_cast<uint32_t>(127 + exponent) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

// Cuts to the first KEPT_BITS + 1 bits, towards zero.
float cut_sum(float sum) {
  uint32_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  bits &= ~0u << (23 - KEPT_BITS);
  std::memcpy(&sum, &bits, sizeof sum);
  return sum;
}

// What becomes of `d` and the 32 products where one of all these is no finite number; else
// `finite`.
float special_sum(const uint8_t* a, const Numbers& of_a, const uint8_t* b, const Numbers& of_b,
                  float d, float finite) {
  for (unsigned k = 0; k < STEP; ++k) d += of_a.number[a[k]] * of_b.number[b[k]];
  if (std::isfinite(d)) return finite;
  constexpr uint32_t NOT_A_NUMBER = 0x7FFFFFFF;
  if (std::isnan(d)) std::memcpy(&d, &NOT_A_NUMBER, sizeof d);
  return d;
}

}  // namespace

void wgmma_multiply_fp8(const uint8_t* a, Fp8 type_a, const uint8_t* b, Fp8 type_b, float* d,
                        unsigned m, unsigned n, unsigned k) {
  const Numbers &of_a = numbers(type_a), &of_b = numbers(type_b);
  // Of a step, k by n: columns side by side.
  std::vector<float> b_values(size_t{STEP} * n);
  std::vector<int32_t> b_exponents(size_t{STEP} * n);
  for (unsigned step = 0; step < k; step += STEP) {
    bool finite_b = true;
    for (unsigned j = 0; j < n; ++j)
      for (unsigned at = 0; at < STEP; ++at) {
        const uint8_t bits = b[size_t{j} * k + step + at];
        b_values[size_t{at} * n + j] = of_b.finite[bits];
        b_exponents[size_t{at} * n + j] = of_b.exponent[bits];
        finite_b &= std::isfinite(of_b.number[bits]);
      }
    for (unsigned i = 0; i < m; ++i) {
      const uint8_t* const row = &a[size_t{i} * k + step];
      const bool finite = finite_b && std::all_of(row, row + STEP, [&](uint8_t bits) {
                            return std::isfinite(of_a.number[bits]);
                          });
      for (unsigned column = 0; column < n; column += COLUMNS) {
        float* const sums = &d[size_t{i} * n + column];
        float before[COLUMNS], scale[COLUMNS];  // 2^(13 - E): what is cut is what is no integer
        int32_t exponents[COLUMNS], total[COLUMNS];
        for (unsigned j = 0; j < COLUMNS; ++j) {
          before[j] = std::isfinite(sums[j]) ? sums[j] : 0;
          exponents[j] =
              before[j] == 0 ? NO_EXPONENT : std::max(std::ilogb(before[j]), NO_EXPONENT);
        }
        for (unsigned at = 0; at < STEP; ++at)
          for (unsigned j = 0; j < COLUMNS; ++j)
            exponents[j] = std::max(
                exponents[j], of_a.exponent[row[at]] + b_exponents[size_t{at} * n + column + j]);
        for (unsigned j = 0; j < COLUMNS; ++j) {
          scale[j] = power_of_2(KEPT_BITS - exponents[j]);
          total[j] = static_cast<int32_t>(before[j] * scale[j]);
        }
        for (unsigned at = 0; at < STEP; ++at)  // each product is below 2^15
          for (unsigned j = 0; j < COLUMNS; ++j)
            total[j] += static_cast<int32_t>(of_a.finite[row[at]] *
                                             b_values[size_t{at} * n + column + j] * scale[j]);
        for (unsigned j = 0; j < COLUMNS; ++j) {
          const float sum = cut_sum(static_cast<float>(total[j]) / scale[j]);
          sums[j] =
              finite && std::isfinite(sums[j])
                  ? sum
                  : special_sum(row, of_a, &b[size_t{column + j} * k + step], of_b, sums[j], sum);
        }
      }
    }
  }
}

}  // namespace cpu_device
