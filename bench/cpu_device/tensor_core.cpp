#include "tensor_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "include/cuda_fp16.h"

namespace cpu_device {

namespace {

constexpr unsigned STEP = 16;    // products in a sum
constexpr unsigned COLUMNS = 8;  // that are computed together: loops over them become vectors
constexpr int KEPT_BITS = 25;    // after the first bit of the largest of a sum
constexpr uint32_t EXPONENT = 0x7F800000, EXPONENT_ONE = 0x00800000;  // of a float
constexpr uint32_t NOT_A_NUMBER = 0x7FFFFFFF;

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// A float for each half: products of two are exact, and so are those of two powers.
struct Operand {
  float value;  // 0 in place of infinity and NaN
  float power;  // 2^exponent, 0 for a zero
  bool finite;
};
Operand operand(uint16_t bits) {
  const bool finite = (bits & 0x7C00) != 0x7C00;
  if (!finite || (bits & 0x7FFF) == 0) return {0, 0, finite};
  const uint32_t exponent = std::max(bits >> 10 & 0x1F, 1) + 127 - 15;
  return {__half2float({bits}), bits_as<float>(exponent * EXPONENT_ONE), true};
}

// Sixteen numbers of a row of a, or of eight columns of b.
struct Row {
  float value[STEP], power[STEP];
  bool finite = true;
};
struct Block {
  float value[STEP][COLUMNS], power[STEP][COLUMNS];
  bool finite[COLUMNS];
};
Row row_of(const uint16_t* a) {
  Row row;
  for (unsigned k = 0; k < STEP; ++k) {
    const Operand x = operand(a[k]);
    row.value[k] = x.value, row.power[k] = x.power, row.finite &= x.finite;
  }
  return row;
}
Block block_of(const uint16_t* b, unsigned pitch) {
  Block block;
  for (unsigned j = 0; j < COLUMNS; ++j) {
    block.finite[j] = true;
    for (unsigned k = 0; k < STEP; ++k) {
      const Operand x = operand(b[size_t{j} * pitch + k]);
      block.value[k][j] = x.value, block.power[k][j] = x.power, block.finite[j] &= x.finite;
    }
  }
  return block;
}

// Rules 1 to 4, of finite numbers.
void add_products(const Row& a, const Block& b, const float* c, float* d) {
  float product[STEP][COLUMNS], largest[COLUMNS] = {};  // a power of two
  for (unsigned k = 0; k < STEP; ++k)
    for (unsigned j = 0; j < COLUMNS; ++j) {
      product[k][j] = a.value[k] * b.value[k][j];
      const float power = a.power[k] * b.power[k][j];
      largest[j] = largest[j] < power ? power : largest[j];
    }
  // From 2^E to 2^(25 - E) and 2^(E - 25). E is between those of products, -28 and 30, if there are
  // any, and 127.
  float scale[COLUMNS], unit[COLUMNS];
  bool products[COLUMNS];
  for (unsigned j = 0; j < COLUMNS; ++j) {
    products[j] = largest[j] != 0;
    uint32_t E = bits_as<uint32_t>(c[j]) & EXPONENT;
    const uint32_t of_products = bits_as<uint32_t>(products[j] ? largest[j] : 1.0f);
    E = E < of_products ? of_products : E;
    scale[j] = bits_as<float>((127 + 127 + KEPT_BITS) * EXPONENT_ONE - E);
    unit[j] = bits_as<float>(E - KEPT_BITS * EXPONENT_ONE);
  }
  int32_t sum[COLUMNS] = {};  // of 16 products below 2^27: 2047 * 2047 * 2^5 leaves it below 2^31
  for (unsigned k = 0; k < STEP; ++k)
    for (unsigned j = 0; j < COLUMNS; ++j) sum[j] += static_cast<int32_t>(product[k][j] * scale[j]);
  for (unsigned j = 0; j < COLUMNS; ++j) {
    const double total =
        static_cast<double>(sum[j]) + static_cast<double>(static_cast<int32_t>(c[j] * scale[j]));
    // The first 24 bits of a double's 53.
    const auto cut = bits_as<double>(bits_as<uint64_t>(total) >> 29 << 29);
    const float result = static_cast<float>(cut) * unit[j];
    // Without products c itself; + 0 makes +0 of -0.
    d[j] = products[j] ? result : c[j] + 0.0f;
  }
}

// Rule 5, where a factor or c is no finite number; `finite` is what the rest makes.
float add_special(const uint16_t* a, const uint16_t* b, float c, float finite) {
  bool infinite[2] = {};  // of each sign
  const auto add = [&](float x) {
    if (std::isinf(x)) infinite[std::signbit(x)] = true;
    return !std::isnan(x);
  };
  bool number = add(c);
  for (unsigned k = 0; k < STEP; ++k) number &= add(__half2float({a[k]}) * __half2float({b[k]}));
  if (!number || (infinite[0] && infinite[1])) return bits_as<float>(NOT_A_NUMBER);
  if (infinite[0]) return INFINITY;
  if (infinite[1]) return -INFINITY;
  return finite;
}

}  // namespace

void tensor_core_multiply(const uint16_t* a, const uint16_t* b, float* d, unsigned m, unsigned n,
                          unsigned k) {
  std::vector<Row> rows(m);
  for (unsigned step = 0; step < k; step += STEP) {
    for (unsigned i = 0; i < m; ++i) rows[i] = row_of(&a[size_t{i} * k + step]);
    for (unsigned column = 0; column < n; column += COLUMNS) {
      const uint16_t* const of_b = &b[size_t{column} * k + step];
      const Block block = block_of(of_b, k);
      for (unsigned i = 0; i < m; ++i) {
        float* const to = &d[size_t{i} * n + column];
        float c[COLUMNS], result[COLUMNS];
        for (unsigned j = 0; j < COLUMNS; ++j) c[j] = std::isfinite(to[j]) ? to[j] : 0;
        add_products(rows[i], block, c, result);
        for (unsigned j = 0; j < COLUMNS; ++j) {
          const bool special = !rows[i].finite || !block.finite[j] || !std::isfinite(to[j]);
          to[j] = special ? add_special(&a[size_t{i} * k + step], &of_b[size_t{j} * k], to[j],
                                        result[j])
                          : result[j];
        }
      }
    }
  }
}

}  // namespace cpu_device
