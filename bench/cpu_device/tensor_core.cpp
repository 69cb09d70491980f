#include "tensor_core.h"

#include <cmath>
#include <cstring>
#include <memory>

#include "include/cuda_fp16.h"

namespace cpu_device {

namespace {

constexpr unsigned STEP = 16;          // products in a sum
constexpr int KEPT_BITS = 25;          // after the first bit of the largest of a sum
constexpr int16_t NO_EXPONENT = -100;  // a zero's: its products' is less than all others'

// One number for each of some columns, in a vector register: a stage with tensor cores spends most
// of its time here, which g++ makes no vectors of by itself.
using Floats = float __attribute__((vector_size(16)));
using Ints = int32_t __attribute__((vector_size(16)));
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

// Eight halves. The product of two values is exact.
struct Operands {
  Floats value[COLUMNS / PART];  // of an infinity or a NaN any finite number
  Shorts exponent;
  bool finite;
};
Operands operands(const uint16_t* halves) {
  Operands of;
  Shorts bits;
  std::memcpy(&bits, halves, sizeof bits);
  const EightInts wide = __builtin_convertvector(bits, EightInts);
  for (unsigned part = 0; part < COLUMNS / PART; ++part) {
    const Ints u = part_of(wide, part);
    // 2^112 is the difference of the exponents' biases; subnormals become normal.
    const Floats positive = (Floats)((u & 0x7FFF) << 13) * 0x1p112f;
    of.value[part] = (Floats)((Ints)positive | (u & INT32_MIN));
  }
  const Shorts magnitude = bits & 0x7FFF, exponent = magnitude >> 10;
  const Shorts not_below_1 = exponent - (exponent == 0);
  const Shorts zero = magnitude == 0;
  of.exponent = (zero & NO_EXPONENT) | (~zero & (not_below_1 - 15));
  of.finite = !any(Shorts(exponent == 0x1F));
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
void convert(const uint16_t* a, Row& row) {
  row.finite = true;
  for (unsigned k = 0; k < STEP; k += COLUMNS) {
    const Operands eight = operands(&a[k]);
    row.finite &= eight.finite;
    for (unsigned i = 0; i < COLUMNS; ++i) {
      row.value[k + i] = eight.value[i / PART][i % PART] - Floats{};
      row.exponent[k + i] = eight.exponent[i] - Shorts{};
    }
  }
}
void convert(const uint16_t* b, unsigned pitch, Block& block) {
  block.finite = true;
  for (unsigned k = 0; k < STEP; ++k) {
    uint16_t across[COLUMNS];
    for (unsigned j = 0; j < COLUMNS; ++j) across[j] = b[size_t{j} * pitch + k];
    block.of[k] = operands(across);
    block.finite &= block.of[k].finite;
  }
}

// Rules 1 to 4, of finite numbers. `d` are the sums before; the sums after.
Floats add_products(const Row& a, const Block& b, unsigned part, Ints largest, Floats d) {
  const Ints of_d = ((Ints)d >> 23 & 0xFF) - 127;
  const Ints E = either(largest > of_d, largest, of_d);
  // Products have exponents from -28 on. Without any the sum is d, whose exponent may be too small.
  const Ints products = largest >= -28;
  const Floats scale = (Floats)((products & (127 + KEPT_BITS - E)) << 23);
  const Floats unit = (Floats)((products & (127 - KEPT_BITS + E)) << 23);
  Ints sum = {};  // 16 products below 2^27: 2047 * 2047 * 2^5 leaves it below 2^31
  for (unsigned k = 0; k < STEP; ++k)
    sum += __builtin_convertvector(a.value[k] * b.of[k].value[part] * scale, Ints);
  const FourDoubles total =
      __builtin_convertvector(sum, FourDoubles) +
      __builtin_convertvector(__builtin_convertvector(d * scale, Ints), FourDoubles);
  // The first 24 bits of a double's 53.
  const FourDoubles cut = (FourDoubles)((FourLongs)total >> 29 << 29);
  const Floats result = __builtin_convertvector(cut, Floats) * unit;
  return (Floats)either(products, (Ints)result, (Ints)(d + 0.0f));  // + 0 makes +0 of -0
}

// Rule 5, where a factor or c is no finite number; `finite` is what the rest makes.
float add_special(const uint16_t* a, const uint16_t* b, float c, float finite) {
  constexpr uint32_t NOT_A_NUMBER = 0x7FFFFFFF;
  bool infinite[2] = {};  // of each sign
  const auto add = [&](float x) {
    if (std::isinf(x)) infinite[std::signbit(x)] = true;
    return !std::isnan(x);
  };
  bool number = add(c);
  for (unsigned k = 0; k < STEP; ++k) number &= add(__half2float({a[k]}) * __half2float({b[k]}));
  if (!number || (infinite[0] && infinite[1])) {
    std::memcpy(&finite, &NOT_A_NUMBER, sizeof finite);
    return finite;
  }
  if (infinite[0]) return INFINITY;
  if (infinite[1]) return -INFINITY;
  return finite;
}

}  // namespace

void tensor_core_multiply(const uint16_t* a, const uint16_t* b, float* d, unsigned m, unsigned n,
                          unsigned k) {
  const std::unique_ptr<Row[]> rows(new Row[m]);
  for (unsigned step = 0; step < k; step += STEP) {
    for (unsigned i = 0; i < m; ++i) convert(&a[size_t{i} * k + step], rows[i]);
    for (unsigned column = 0; column < n; column += COLUMNS) {
      const uint16_t* const of_b = &b[size_t{column} * k + step];
      Block block;
      convert(of_b, k, block);
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
          Floats sums = add_products(row, block, part, part_of(wide, part),
                                     (Floats)(~special & (Ints)before));
          if (!row.finite || !block.finite || any(special))
            for (unsigned at = 0; at < PART; ++at)
              sums[at] = add_special(&a[size_t{i} * k + step], &of_b[size_t{j + at} * k],
                                     before[at], sums[at]);
          std::memcpy(to, &sums, sizeof sums);
        }
      }
    }
  }
}

}  // namespace cpu_device
