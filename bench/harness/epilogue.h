#pragma once
// Epilogues on the host: which one is asked for, what it reads, and what has to come of it.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "data.h"
#include "extensions.h"

namespace ladder::harness {

enum class Scale { NONE, ROW, COLUMN };
constexpr const char* SCALE_NAMES[] = {"none", "row", "column"};
constexpr const char* ACTIVATION_NAMES[] = {"none", "relu", "gelu", "gelu_erf", "silu"};

struct EpilogueChoice {
  float alpha = 1, beta = 0;  // beta times an addend
  bool bias = false, residual = false;
  Scale scale = Scale::NONE;
  Activation activation = Activation::NONE;
  int zero_point = 0;  // of int8

  bool is_product_alone() const {
    return alpha == 1 && beta == 0 && !bias && !residual && scale == Scale::NONE &&
           activation == Activation::NONE && zero_point == 0;
  }
  // "gelu(0.5 * A * B + bias) + residual"
  std::string formula() const;
};

inline EpilogueChoice bias_and(Activation activation) {
  EpilogueChoice choice;
  choice.bias = true;
  choice.activation = activation;
  return choice;
}

// What a C of int8 is made with unless options say: products of random integers over a K so long
// are as a rule 64 after that.
EpilogueChoice requantisation_for(int k);
// round(factor * sum) + zero_point, cut to -128 .. 127, in fp32 and with ties to even, as the GPU
// does.
int8_t requantised(double sum, float factor, int zero_point);

// What a variant rounds: sums to the format of C; once more where one kernel leaves them to
// another; before all that A and B to tf32, to the nearest, or by cutting bits off; the same with
// what was cut off in two products more.
enum class Rounds { ONCE, TWICE, TF32, CUT_TO_TF32, SPLIT };

// Throws UsageError where the results of integers would not be exact.
void require_exact(const EpilogueChoice& choice, int k);

// |f(x) - f(y)| <= lipschitz |x - y|, and a correct f in fp32 is at most `relative` |x| from f(x).
//
// The largest slope of GELU is 1.1290, at x = 1.42, of SILU 1.0998, at 2.40. tanh.approx is within
// 2^-11 of tanh, relatively, so that x / 2 (1 + tanh) is within 2^-12 |x|; its argument is off by a
// few 2^-24 of itself, and t (1 - tanh(t)^2) < 0.45, and three more operations round: together less
// than 2^-21 |x|. erff is within 2 units in the last place, 2^-23; the same 2^-21 covers it.
struct Activated {
  double lipschitz, relative;
};
Activated properties(Activation activation);
double activate(Activation activation, double x);

template <class Out>
struct EpilogueData {
  EpilogueChoice choice;
  int64_t ld = 0;                     // of the matrices: C's
  std::vector<Out> addend, residual;  // empty, as all that is not asked for
  std::vector<Out> bias;
  std::vector<float> row_scale, column_scale;

  EpilogueData(const EpilogueChoice& choice, int m, int n, int64_t ld, Data data, uint64_t seed);

  double factor(int i, int j) const;  // of the product
  double added(int i, int j) const;   // to it, before the activation
  double before(int i, int j, double product) const { return factor(i, j) * product + added(i, j); }
  double after(int i, int j, double before) const;
  // |beta addend| + |bias|
  double magnitude_added(int i, int j) const;
};

}  // namespace ladder::harness
