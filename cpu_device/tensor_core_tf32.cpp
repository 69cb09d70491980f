#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tensor_core.h"

namespace cpu_device {

namespace {

constexpr unsigned STEP = 8;       // products in a sum
constexpr int KEPT_BITS = 25;      // after the first bit of the largest of a sum
constexpr int NO_EXPONENT = -600;  // a zero's: less than all others, and its products', too
constexpr int LEAST_EXPONENT = -126;
constexpr unsigned COLUMNS = 8;  // that are added up side by side, in vector registers

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

constexpr uint32_t NOT_READ = (1 << 13) - 1;

// What is read of a float.
struct Operand {
  float number;
  double finite;  // the same; 0 for an infinity or a NaN
  int32_t exponent;
};
Operand operand(float x) {
  const float number = float_of(bits_of(x) & ~NOT_READ);
  if (!std::isfinite(x)) return {x, 0, NO_EXPONENT};
  const int exponent = number == 0 ? NO_EXPONENT : std::max(std::ilogb(number), LEAST_EXPONENT);
  return {number, number, exponent};
}

double power_of_2(int exponent) {  // of a normal number
  const uint64_t bits = static_cast<uint64_t>(1023 + exponent) << 52;
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

// Cut to a float, towards zero.
float cut_to_float(double sum) {
  auto near = static_cast<float>(sum);
  if (std::abs(double{near}) > std::abs(sum)) near = std::nextafter(near, 0.0f);
  return near + 0.0f;  // + 0 makes +0 of -0
}

// What becomes of `d` and the 8 products where one of all these is no finite number.
float special_sum(const Operand* a, const Operand* b, float d) {
  for (unsigned k = 0; k < STEP; ++k) d += a[k].number * b[k].number;
  return std::isnan(d) ? float_of(0x7FFFFFFF) : d;
}

}  // namespace

void wgmma_multiply_tf32(const float* a, const float* b, float* d, unsigned m, unsigned n) {
  const auto finite = [](const Operand* of) {
    return std::none_of(of, of + STEP, [](const Operand& x) { return !std::isfinite(x.number); });
  };
  std::vector<Operand> of_b(size_t{n} * STEP);
  std::transform(b, b + of_b.size(), of_b.begin(), operand);
  // k by n: columns side by side.
  std::vector<double> values(of_b.size());
  std::vector<int32_t> exponents(of_b.size());
  for (unsigned j = 0; j < n; ++j)
    for (unsigned k = 0; k < STEP; ++k) {
      values[size_t{k} * n + j] = of_b[size_t{j} * STEP + k].finite;
      exponents[size_t{k} * n + j] = of_b[size_t{j} * STEP + k].exponent;
    }
  for (unsigned i = 0; i < m; ++i) {
    Operand row[STEP];
    std::transform(&a[size_t{i} * STEP], &a[size_t{i} * STEP] + STEP, row, operand);
    const bool finite_row = finite(row);
    for (unsigned column = 0; column < n; column += COLUMNS) {
      float* const sums = &d[size_t{i} * n + column];
      double scale[COLUMNS];  // 2^(25 - E): what is cut is what is no integer
      int32_t E[COLUMNS], total[COLUMNS];
      for (unsigned j = 0; j < COLUMNS; ++j)
        E[j] = sums[j] == 0 || !std::isfinite(sums[j])
                   ? NO_EXPONENT
                   : std::max(std::ilogb(sums[j]), LEAST_EXPONENT);
      for (unsigned k = 0; k < STEP; ++k)
        for (unsigned j = 0; j < COLUMNS; ++j)
          E[j] = std::max(E[j], row[k].exponent + exponents[size_t{k} * n + column + j]);
      for (unsigned j = 0; j < COLUMNS; ++j) {
        scale[j] = power_of_2(KEPT_BITS - std::max(E[j], NO_EXPONENT));
        total[j] = static_cast<int32_t>(std::isfinite(sums[j]) ? sums[j] * scale[j] : 0);
      }
      for (unsigned k = 0; k < STEP; ++k)  // each product is below 2^27
        for (unsigned j = 0; j < COLUMNS; ++j)
          total[j] +=
              static_cast<int32_t>(row[k].finite * values[size_t{k} * n + column + j] * scale[j]);
      for (unsigned j = 0; j < COLUMNS; ++j) {
        const Operand* const other = &of_b[size_t{column + j} * STEP];
        sums[j] = finite_row && std::isfinite(sums[j]) && finite(other)
                      ? cut_to_float(total[j] / scale[j])
                      : special_sum(row, other, sums[j]);
      }
    }
  }
}

float rounded_to_tf32(float x) {
  if (!std::isfinite(x)) return x;
  const uint32_t bits = bits_of(x), is_odd = bits / (NOT_READ + 1) % 2;
  return float_of((bits + NOT_READ / 2 + is_odd) & ~NOT_READ);
}

}  // namespace cpu_device
