#include "tensor_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "include/cuda_bf16.h"
#include "include/cuda_fp16.h"

namespace cpu_device {

namespace {

constexpr unsigned STEP = 16;          // products in a sum
constexpr int KEPT_BITS = 25;          // after the first bit of the largest of a sum
constexpr int16_t NO_EXPONENT = -400;  // a zero's: its products' is less than all others'
constexpr int LEAST_EXPONENT = -252;   // of a product, which two bf16 have

// One number for each of some columns, in a vector register: a stage with tensor cores spends most
// of its time here, which g++ makes no vectors of by itself.
using Floats = float __attribute__((vector_size(16)));
using Ints = int32_t __attribute__((vector_size(16)));
using Unsigned = uint32_t __attribute__((vector_size(16)));
using Shorts = int16_t __attribute__((vector_size(16)));
using FourDoubles = double __attribute__((vector_size(32)));
using FourLongs = uint64_t __attribute__((vector_size(32)));
using EightInts = int32_t __attribute__((vector_size(32)));
constexpr unsigned COLUMNS = 8, PART = 4;  // that fit into Shorts; into Floats and Ints

// `x` where `mask` is -1, `y` where it is 0.
inline Ints either(Ints mask, Ints x, Ints y) {
  return (mask & x) | (~mask & y);
}

template <class Mask>
bool any(const Mask& mask) {
  uint64_t words[2];
  std::memcpy(words, &mask, sizeof words);
  return (words[0] | words[1]) != 0;
}
// Four of eight.
Ints part_of(const EightInts& eight, unsigned part) {
  Ints four;
  std::memcpy(&four, reinterpret_cast<const char*>(&eight) + part * sizeof four, sizeof four);
  return four;
}

// Eight numbers of 16 bits. The product of two values is exact.
struct Operands {
  Floats value[COLUMNS / PART];  // of an infinity or a NaN any finite number
  Shorts exponent;
  bool finite;
};

struct Half {
  static constexpr int FRACTION = 10, BIAS = 15, SPECIAL = 0x1F;
  static Floats to_floats(Ints bits) {
    // 2^112 is the difference of the exponents' biases; subnormals become normal.
    const Floats positive = (Floats)((bits & 0x7FFF) << 13) * 0x1p112f;
    return (Floats)((Ints)positive | (bits & INT32_MIN));
  }
  static float to_float(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
};
struct Bf16 {
  static constexpr int FRACTION = 7, BIAS = 127, SPECIAL = 0xFF;
  static Floats to_floats(Ints bits) { return (Floats)(bits << 16); }
  static float to_float(uint16_t bits) { return __bfloat162float(__ushort_as_bfloat16(bits)); }
};

template <class Format>
Operands operands(const uint16_t* numbers) {
  Operands of;
  Shorts bits;
  std::memcpy(&bits, numbers, sizeof bits);
  const EightInts wide = __builtin_convertvector(bits, EightInts);
  for (unsigned part = 0; part < COLUMNS / PART; ++part)
    of.value[part] = Format::to_floats(part_of(wide, part));
  const Shorts magnitude = bits & 0x7FFF, exponent = magnitude >> Format::FRACTION;
  const Shorts not_below_1 = exponent - (exponent == 0);
  const Shorts zero = magnitude == 0;
  of.exponent = (zero & NO_EXPONENT) | (~zero & (not_below_1 - Format::BIAS));
  of.finite = !any(Shorts(exponent == Format::SPECIAL));
  return of;
}

// Sixteen numbers of a row of a, each in every column; and of eight columns of b.
struct Row {
  Floats value[STEP];
  Shorts exponent[STEP];
  bool finite;
};
struct Block {
  Operands of[STEP];
  bool finite;
};
template <class Format>
void convert(const uint16_t* a, Row& row) {
  row.finite = true;
  for (unsigned k = 0; k < STEP; k += COLUMNS) {
    const Operands eight = operands<Format>(&a[k]);
    row.finite &= eight.finite;
    for (unsigned i = 0; i < COLUMNS; ++i) {
      row.value[k + i] = eight.value[i / PART][i % PART] - Floats{};
      row.exponent[k + i] = eight.exponent[i] - Shorts{};
    }
  }
}
template <class Format>
void convert(const uint16_t* b, unsigned pitch, Block& block) {
  block.finite = true;
  for (unsigned k = 0; k < STEP; ++k) {
    uint16_t across[COLUMNS];
    for (unsigned j = 0; j < COLUMNS; ++j) across[j] = b[size_t{j} * pitch + k];
    block.of[k] = operands<Format>(across);
    block.finite &= block.of[k].finite;
  }
}

// E of rule 2; of a `d` that is 0, too.
Ints largest_exponent(Ints largest, Floats d) {
  const Ints of_d = ((Ints)d >> 23 & 0xFF) - 127;
  return either(largest > of_d, largest, of_d);
}
// Those of bf16 with which the numbers below are no normal floats. (All of halves are.)
template <class Format>
bool are_far(Ints largest, Ints E) {
  constexpr bool CAN_BE = Format::BIAS == 127;
  return CAN_BE && any(Ints((largest >= LEAST_EXPONENT) & ((E < -101) | (E > 122))));
}

// Rules 1 to 4, of finite numbers. `d` are the sums before; the sums after.
Floats add_products(const Row& a, const Block& b, unsigned part, Ints largest, Ints E, Floats d) {
  // Without a product the sum is d, whose exponent may be too small.
  const Ints products = largest >= LEAST_EXPONENT;
  const Floats scale = (Floats)((products & (127 + KEPT_BITS - E)) << 23);
  const Floats unit = (Floats)((products & (127 - KEPT_BITS + E)) << 23);
  // 16 products below 2^27: 2047 * 2047 * 2^5 leaves it below 2^31. Without a sign, for what is not
  // finite, or far, may go round: others make the result of that.
  Unsigned sum = {};
  for (unsigned k = 0; k < STEP; ++k)
    sum += (Unsigned) __builtin_convertvector(a.value[k] * b.of[k].value[part] * scale, Ints);
  const FourDoubles total =
      __builtin_convertvector((Ints)sum, FourDoubles) +
      __builtin_convertvector(__builtin_convertvector(d * scale, Ints), FourDoubles);
  // The first 24 bits of a double's 53.
  const FourDoubles cut = (FourDoubles)((FourLongs)total >> 29 << 29);
  const Floats result = __builtin_convertvector(cut, Floats) * unit;
  return (Floats)either(products, (Ints)result, (Ints)(d + 0.0f));  // + 0 makes +0 of -0
}

// The same of one sum, whatever its exponents. A result that is no normal float is cut as well, or
// infinite: no GPU was asked.
float add_far(const uint16_t* a, const uint16_t* b, int largest, float c) {
  if (largest < LEAST_EXPONENT) return c + 0.0f;
  const int E = c == 0 ? largest : std::max({largest, std::ilogb(c), -126});
  const auto cut = [&](double x) { return std::trunc(std::ldexp(x, KEPT_BITS - E)); };
  double total = cut(c);
  for (unsigned k = 0; k < STEP; ++k)
    total += cut(double{Bf16::to_float(a[k])} * double{Bf16::to_float(b[k])});
  if (total == 0 || !std::isfinite(total)) return 0;  // add_special() has what is not finite
  const int unit = std::max(std::ilogb(total) - 23, -149 + KEPT_BITS - E);
  const double sum = std::ldexp(std::trunc(std::ldexp(total, -unit)), unit + E - KEPT_BITS);
  return static_cast<float>(sum) + 0.0f;
}

// Rule 5, where a factor or c is no finite number; `finite` is what the rest makes.
template <class Format>
float add_special(const uint16_t* a, const uint16_t* b, float c, float finite) {
  constexpr uint32_t NOT_A_NUMBER = 0x7FFFFFFF;
  bool infinite[2] = {};  // of each sign
  const auto add = [&](double x) {
    if (std::isinf(x)) infinite[std::signbit(x)] = true;
    return !std::isnan(x);
  };
  bool number = add(c);
  for (unsigned k = 0; k < STEP; ++k)
    number &= add(double{Format::to_float(a[k])} * double{Format::to_float(b[k])});
  if (!number || (infinite[0] && infinite[1])) {
    std::memcpy(&finite, &NOT_A_NUMBER, sizeof finite);
    return finite;
  }
  if (infinite[0]) return INFINITY;
  if (infinite[1]) return -INFINITY;
  return finite;
}

template <class Format>
void multiply(const uint16_t* a, const uint16_t* b, float* d, unsigned m, unsigned n, unsigned k) {
  const std::unique_ptr<Row[]> rows(new Row[m]);
  for (unsigned step = 0; step < k; step += STEP) {
    for (unsigned i = 0; i < m; ++i) convert<Format>(&a[size_t{i} * k + step], rows[i]);
    for (unsigned column = 0; column < n; column += COLUMNS) {
      const uint16_t* const of_b = &b[size_t{column} * k + step];
      Block block;
      convert<Format>(of_b, k, block);
      for (unsigned i = 0; i < m; ++i) {
        const Row& row = rows[i];
        Shorts largest = row.exponent[0] + block.of[0].exponent;
        for (unsigned at = 1; at < STEP; ++at) {
          const Shorts exponent = row.exponent[at] + block.of[at].exponent;
          largest = largest > exponent ? largest : exponent;
        }
        const EightInts wide = __builtin_convertvector(largest, EightInts);
        for (unsigned part = 0; part < COLUMNS / PART; ++part) {
          const unsigned j = part * PART;
          float* const to = &d[size_t{i} * n + column + j];
          Floats before;
          std::memcpy(&before, to, sizeof before);
          const Ints special = ((Ints)before & 0x7F800000) == 0x7F800000;
          const Floats finite = (Floats)(~special & (Ints)before);
          const Ints exponents = part_of(wide, part), E = largest_exponent(exponents, finite);
          Floats sums = add_products(row, block, part, exponents, E, finite);
          if (are_far<Format>(exponents, E))
            for (unsigned at = 0; at < PART; ++at)
              sums[at] = add_far(&a[size_t{i} * k + step], &of_b[size_t{j + at} * k], exponents[at],
                                 finite[at]);
          if (!row.finite || !block.finite || any(special))
            for (unsigned at = 0; at < PART; ++at)
              sums[at] = add_special<Format>(&a[size_t{i} * k + step], &of_b[size_t{j + at} * k],
                                             before[at], sums[at]);
          std::memcpy(to, &sums, sizeof sums);
        }
      }
    }
  }
}

}  // namespace

void tensor_core_multiply(const uint16_t* a, const uint16_t* b, float* d, unsigned m, unsigned n,
                          unsigned k) {
  multiply<Half>(a, b, d, m, n, k);
}
void tensor_core_multiply_bf16(const uint16_t* a, const uint16_t* b, float* d, unsigned m,
                               unsigned n, unsigned k) {
  multiply<Bf16>(a, b, d, m, n, k);
}

}  // namespace cpu_device
