#pragma once
// The operands of build/tensor_arithmetic, drawn anew by the test of the CPU device's tensor cores:
// its file of a GPU's results has no need to hold them. A change here asks for a new measurement.
#include <cuda_fp16.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace ladder::tensor_cases {

constexpr int M = 64, N = 64, K = 64, STEP = 16;  // a tensor core multiplies STEP of K at a time

struct Case {
  std::string name;
  int steps = 1;  // of STEP
  std::vector<uint16_t> a = std::vector<uint16_t>(M * K),
                        b = std::vector<uint16_t>(N * K);  // [n][k]
  std::vector<float> c = std::vector<float>(M * N);
};

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(static_cast<void*>(&to), &from, sizeof to);
  return to;
}
inline uint16_t half_of(double x) {
  return bits_as<uint16_t>(__float2half(static_cast<float>(x)));
}
inline double value_of(uint16_t bits) {
  return __half2float(bits_as<half>(bits));
}

// The same numbers from every compiler: the standard says what mt19937_64 draws, but neither what
// its distributions make of that nor which operand of + or * is drawn first.
class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  int below(int end) { return static_cast<int>(bits_() >> 33) % end; }
  bool one_in(int n) { return below(n) == 0; }
  double signed_as_drawn(double x) { return one_in(2) ? -x : x; }
  double uniform() { return (static_cast<double>(bits_() >> 40) * 0x1p-23 - 1); }
  // The exponent is uniform, as are the 23 bits after the first.
  double of_exponent(int low, int high) {
    const int exponent = low + below(high - low + 1);
    return signed_as_drawn(std::ldexp(1 + below(1 << 23) * 0x1p-23, exponent));
  }
  uint16_t finite_half() {
    const auto bits = static_cast<uint16_t>(below(1 << 16));
    return (bits & 0x7C00) == 0x7C00 ? bits & 0x83FF : bits;
  }

 private:
  std::mt19937_64 bits_;
};

// All cases, each from draw(random, case) with a seed of its own.
class Cases {
 public:
  template <class Draw>
  void add(std::string name, int steps, Draw draw) {
    Case drawn;
    drawn.name = std::move(name);
    drawn.steps = steps;
    Random random(cases.size() + 1);
    draw(random, drawn);
    cases.push_back(std::move(drawn));
  }
  // Each element of a, b and c by itself.
  template <class Half, class Float>
  void add_each(std::string name, int steps, Half draw_half, Float draw_c) {
    add(std::move(name), steps, [&](Random& random, Case& drawn) {
      for (auto& x : drawn.a) x = draw_half(random);
      for (auto& x : drawn.b) x = draw_half(random);
      for (auto& x : drawn.c) x = static_cast<float>(draw_c(random));
    });
  }

  std::vector<Case> cases;
};

inline double sum_of_products(const Case& of, int i, int j) {
  double sum = 0;
  for (int k = 0; k < of.steps * STEP; ++k)
    sum += value_of(of.a[i * K + k]) * value_of(of.b[j * K + k]);
  return sum;
}

// Products one of which is 1, or c is, and others that are ever smaller powers of two: which bits
// are lost, one by one or of their sum, and where the result is rounded to.
inline void draw_lost_bits(Case& drawn, bool c_is_one, int small_products, int sign) {
  for (int i = 0; i < M; ++i) {
    drawn.a[i * K] = half_of(c_is_one ? 0 : 1);
    for (int k = 1; k <= small_products; ++k)
      drawn.a[i * K + k] = half_of(sign * std::ldexp(1, -(i % 20)));
    for (int j = 0; j < N; ++j) drawn.c[i * N + j] = c_is_one ? 1.0f : 0.0f;
  }
  for (int j = 0; j < N; ++j) {
    drawn.b[j * K] = half_of(1);
    // Beyond 20 with a second bit right after the first.
    for (int k = 1; k <= small_products; ++k)
      drawn.b[j * K + k] = half_of(std::ldexp(j < 20 ? 1 : 1.5, -(j % 20)));
  }
}

inline std::vector<Case> all() {
  Cases c;
  const auto zero = [](Random&) { return 0.0; };
  const auto uniform = [](Random& r) { return r.uniform(); };
  const auto uniform_half = [](Random& r) { return half_of(r.uniform()); };
  const auto finite_half = [](Random& r) { return r.finite_half(); };
  const auto exponents = [](int low, int high) {
    return [=](Random& r) { return r.of_exponent(low, high); };
  };
  const auto half_exponents = [](int low, int high) {
    return [=](Random& r) { return half_of(r.of_exponent(low, high)); };
  };

  for (const int steps : {1, 4}) {
    const char* const chained = steps == 1 ? "" : ", 4 in a row";
    c.add_each(fmt::format("uniform, c = 0{}", chained), steps, uniform_half, zero);
    c.add_each(fmt::format("uniform, c too{}", chained), steps, uniform_half, uniform);
    for (const int spread : {2, 4, 8, 12})
      c.add_each(fmt::format("exponents from -{0} to {0}, twice that in c{1}", spread, chained),
                 steps, half_exponents(-spread, spread), exponents(-2 * spread, 2 * spread));
    c.add_each(fmt::format("any finite half, c = 0{}", chained), steps, finite_half, zero);
    c.add_each(fmt::format("any finite half, c of exponents from -52 to 36{}", chained), steps,
               finite_half, exponents(-52, 36));
  }
  c.add_each("any finite half, c of any exponent", 1, finite_half, exponents(-149, 127));
  c.add_each("subnormal halves, c of exponents from -60 to -20", 1, half_exponents(-24, -15),
             exponents(-60, -20));
  c.add("subnormal a, c of exponents from -60 to 0", 1, [&](Random& r, Case& drawn) {
    for (auto& x : drawn.a) x = half_of(r.of_exponent(-24, -15));
    for (auto& x : drawn.b) x = r.finite_half();
    for (auto& x : drawn.c) x = static_cast<float>(r.of_exponent(-60, 0));
  });

  for (const int distance : {1, 2, 4, 8})
    c.add(fmt::format("products that cancel {} places on", distance), 1,
          [&](Random& r, Case& drawn) {
            for (auto& x : drawn.a) x = half_of(r.of_exponent(-6, 6));
            for (auto& x : drawn.b) x = half_of(r.of_exponent(-6, 6));
            for (auto& x : drawn.c) x = static_cast<float>(r.of_exponent(-40, 0));
            for (int k = 0; k < K; ++k)
              if (k / distance % 2 == 1)
                for (int i = 0; i < M; ++i) {
                  drawn.a[i * K + k] = drawn.a[i * K + k - distance] ^ (r.one_in(8) ? 1 : 0);
                  drawn.b[i * K + k] = drawn.b[i * K + k - distance] ^ 0x8000;
                }
          });
  for (const int spread : {2, 5, 8})
    c.add(fmt::format("c cancels products with exponents from -{0} to {0}", spread), 1,
          [&](Random& r, Case& drawn) {
            for (auto& x : drawn.a) x = half_of(r.of_exponent(-spread, spread));
            for (auto& x : drawn.b) x = half_of(r.of_exponent(-spread, spread));
            for (int i = 0; i < M; ++i)
              for (int j = 0; j < N; ++j) {
                const auto sum = static_cast<float>(sum_of_products(drawn, i, j));
                drawn.c[i * N + j] =
                    -bits_as<float>(bits_as<uint32_t>(sum) + static_cast<uint32_t>(r.below(3)) - 1);
              }
          });

  // What exponent has a zero, and a product with one?
  c.add("zeros, c down to the subnormal", 1, [&](Random& r, Case& drawn) {
    const auto draw = [&](std::vector<uint16_t>& rows) {
      for (int i = 0; i < M; ++i) {
        const bool whole_row = r.one_in(4);
        for (int k = 0; k < K; ++k)
          rows[i * K + k] =
              whole_row || r.one_in(2) ? half_of(r.signed_as_drawn(0)) : r.finite_half();
      }
    };
    draw(drawn.a), draw(drawn.b);
    for (auto& x : drawn.c)
      x = static_cast<float>(r.one_in(8) ? r.signed_as_drawn(0) : r.of_exponent(-149, 0));
  });
  c.add("zeros times large numbers beside small products", 1, [&](Random& r, Case& drawn) {
    for (auto& x : drawn.a)
      x = half_of(r.one_in(4) ? r.of_exponent(-24, -10) : r.signed_as_drawn(0));
    for (auto& x : drawn.b) x = half_of(r.of_exponent(0, 14));
    for (auto& x : drawn.c) x = static_cast<float>(r.one_in(2) ? 0 : r.of_exponent(-60, -20));
  });

  c.add("infinity, NaN and signed zeros", 1, [&](Random& r, Case& drawn) {
    const uint16_t halves[] = {0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7C01, 0x7BFF, 0x0001, 0x3C00};
    const uint32_t floats[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001,
                               0x7F7FFFFF, 0xFF7FFFFF, 0x00000001, 0x807FFFFF, 0x00800000,
                               0x3F800000, 0x00000000, 0x80000000, 0x80000000};
    const auto draw = [&](std::vector<uint16_t>& rows, int one_in) {
      for (auto& x : rows)
        x = r.one_in(one_in) ? halves[r.below(8)] : half_of(r.signed_as_drawn(r.below(2)));
    };
    draw(drawn.a, 40), draw(drawn.b, 40);
    // Rows of zeros of one sign: products that are all +0 or all -0.
    for (int i = 0; i < M; i += 4)
      for (int k = 0; k < K; ++k) {
        drawn.a[i * K + k] = half_of(i / 4 % 2 == 0 ? 0.0 : -0.0);
        drawn.b[i * K + k] = half_of(1);
      }
    for (auto& x : drawn.c) x = bits_as<float>(floats[r.below(14)]);
  });

  for (const bool c_is_one : {false, true})
    for (const int sign : {1, -1})
      for (const int small_products : {1, 3, 15})
        c.add(fmt::format("{} 1, {} smaller {} from 2^0 to 2^-38", c_is_one ? "c =" : "a product =",
                          small_products, sign > 0 ? "ones" : "ones of the other sign"),
              1,
              [&](Random&, Case& drawn) { draw_lost_bits(drawn, c_is_one, small_products, sign); });
  return c.cases;
}

// FNV-1a, a word at a time.
template <class Words>
uint64_t hash_of(const Words& words, uint64_t hash = 0xCBF29CE484222325u) {
  for (const auto word : words) hash = (hash ^ word) * 0x100000001B3u;
  return hash;
}
inline uint64_t hash_of(const Case& operands) {
  std::vector<uint32_t> c(operands.c.size());
  std::transform(operands.c.begin(), operands.c.end(), c.begin(), bits_as<uint32_t, float>);
  return hash_of(c, hash_of(operands.b, hash_of(operands.a)));
}

}  // namespace ladder::tensor_cases
