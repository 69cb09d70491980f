// The host's half of epilogues: what they compute, and that the bound lets correct results pass and
// refuses mistakes that people make.
#include "harness/epilogue.h"

#include <gtest/gtest.h>

#include <functional>

#include "harness/options.h"
#include "harness/problem.h"

namespace ladder::harness {
namespace {

TEST(Activation, KnownValues) {
  EXPECT_EQ(0, activate(Activation::RELU, -2));
  EXPECT_EQ(2, activate(Activation::RELU, 2));
  EXPECT_EQ(-2, activate(Activation::NONE, -2));
  EXPECT_NEAR(0.8411919906, activate(Activation::GELU, 1), 1e-10);
  EXPECT_NEAR(0.8413447461, activate(Activation::GELU_ERF, 1), 1e-10);
  EXPECT_NEAR(-0.1586552539, activate(Activation::GELU_ERF, -1), 1e-10);
  EXPECT_NEAR(0.7310585786, activate(Activation::SILU, 1), 1e-10);
}

// The largest slope, and no more than a hundredth more than it.
TEST(Activation, LipschitzConstantsAreTight) {
  for (const Activation f : {Activation::NONE, Activation::RELU, Activation::GELU,
                             Activation::GELU_ERF, Activation::SILU}) {
    double largest = 0;
    constexpr double STEP = 1e-3;
    for (double x = -12; x < 12; x += STEP)
      largest = std::max(largest, std::abs(activate(f, x + STEP) - activate(f, x)) / STEP);
    EXPECT_LE(largest, properties(f).lipschitz * (1 + 1e-9));
    EXPECT_GE(largest, properties(f).lipschitz * 0.99);
  }
}

TEST(EpilogueChoice, FormulaNamesWhatIsDone) {
  EXPECT_EQ("A * B", EpilogueChoice{}.formula());
  EXPECT_EQ("silu(0.5 * row_scale * A * B + -2 * addend + bias) + residual",
            (EpilogueChoice{0.5f, -2, true, true, Scale::ROW, Activation::SILU}.formula()));
}

TEST(EpilogueChoice, ExactResultsAreIntegersThatFp32Has) {
  const auto refused = [](const EpilogueChoice& choice, int k) {
    try {
      require_exact(choice, k);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ("", refused({2, -3, true, true, Scale::ROW, Activation::RELU}, 4096));
  EXPECT_NE("", refused({1, 0, false, false, Scale::NONE, Activation::GELU}, 1));
  EXPECT_EQ("--alpha: 0.5 is no integer, which exact results need", refused({0.5f}, 1));
  EXPECT_EQ("--beta: 0.5 is no integer, which exact results need", refused({1, 0.5f}, 1));
  EXPECT_NE("", refused({2}, 1 << 19));
}

using Fp16 = Problem<half, half>;
using Then = std::function<double(int i, int j, double product)>;

// Sums in fp32, what `then` makes of each, rounded once.
Output<half> computed(const Fp16& p, const Then& then) {
  Output<half> output = p.make_output();
  output.poison();
  const auto number = [](half x) { return Number<half>::to_float(x); };
  for (int i = 0; i < p.shape.m; ++i)
    for (int j = 0; j < p.shape.n; ++j) {
      float sum = 0;
      for (int k = 0; k < p.shape.k; ++k)
        sum += number(p.a[static_cast<size_t>(i * p.lda + k)]) *
               number(p.b[static_cast<size_t>(k * p.ldb + j)]);
      output.row(i)[j] = Number<half>::from_float(static_cast<float>(then(i, j, sum)));
    }
  return output;
}

Verdict verdict(const Fp16& p, const Then& then, Rounds rounds = Rounds::ONCE) {
  const Output<half> reference = reference_output(p);
  return verify(computed(p, then), reference, p.bound(&reference, rounds));
}

constexpr Shape SHAPE{61, 83, 64};
Fp16 problem(const EpilogueChoice& choice, Data data = Data::UNIFORM, Shape shape = SHAPE) {
  return Fp16(shape, data, 7, {}, Sums::FP32, choice);
}

double gelu_with(double cubic, double x) {
  return x / 2 * (1 + std::tanh(0.7978845608 * (x + cubic * x * x * x)));
}

TEST(EpilogueBound, RightResultsPassAndSoDoesTheErrorOfTheHardwaresTanh) {
  for (const Activation f : {Activation::NONE, Activation::RELU, Activation::GELU,
                             Activation::GELU_ERF, Activation::SILU}) {
    const Fp16 p = problem({0.5f, -1.5f, true, true, Scale::ROW, f});
    EXPECT_TRUE(verdict(p, [&](int i, int j, double product) {
                  return p.epilogue.after(i, j, p.epilogue.before(i, j, product));
                }).ok);
  }
  const Fp16 p = problem({1, 0, true, false, Scale::NONE, Activation::GELU});
  for (const double error : {-0x1p-11, 0x1p-11})
    EXPECT_TRUE(verdict(p, [&](int i, int j, double product) {
                  const double x = p.epilogue.before(i, j, product);
                  const double t = std::tanh(0.7978845608 * (x + 0.044715 * x * x * x));
                  return x / 2 * (1 + t * (1 + error));
                }).ok);
}

TEST(EpilogueBound, RefusesAWrongConstantOfGelu) {
  const Fp16 p = problem({0.5f, 0, true, false, Scale::NONE, Activation::GELU});
  const auto with = [&](double cubic) {
    return verdict(p, [&, cubic](int i, int j, double product) {
      return gelu_with(cubic, p.epilogue.before(i, j, product));
    });
  };
  EXPECT_TRUE(with(0.044715).ok);
  EXPECT_FALSE(with(0.04).ok);
  EXPECT_FALSE(with(0.0).ok);
}

TEST(EpilogueBound, RefusesTheOtherGelu) {
  const Fp16 p = problem({0.5f, 0, true, false, Scale::NONE, Activation::GELU_ERF});
  EXPECT_FALSE(verdict(p, [&](int i, int j, double product) {
                 return gelu_with(0.044715, p.epilogue.before(i, j, product));
               }).ok);
}

// In results of either kind of data.
TEST(EpilogueBound, RefusesWhatIsLeftOutOrInTheWrongPlace) {
  for (const Data data : {Data::UNIFORM, Data::EXACT}) {
    const Fp16 p =
        problem({2, -3, true, true, Scale::ROW, Activation::RELU}, data, Shape{61, 61, 64});
    const EpilogueData<half>& e = p.epilogue;
    const auto number = [](half x) { return Number<half>::to_float(x); };
    const auto bias = [&](int j) { return number(e.bias[static_cast<size_t>(j)]); };
    const auto residual = [&](int i, int j) {
      return number(e.residual[static_cast<size_t>(i * e.ld + j)]);
    };
    const auto relu = [](double x) { return x < 0 ? 0 : x; };
    EXPECT_TRUE(verdict(p, [&](int i, int j, double product) {
                  return relu(e.before(i, j, product)) + residual(i, j);
                }).ok);
    const std::pair<const char*, Then> mistakes[] = {
        {"no bias",
         [&](int i, int j, double product) {
           return relu(e.before(i, j, product) - bias(j)) + residual(i, j);
         }},
        {"the bias of the row",
         [&](int i, int j, double product) {
           return relu(e.before(i, j, product) - bias(j) + bias(i)) + residual(i, j);
         }},
        {"no addend",
         [&](int i, int j, double product) {
           return relu(e.factor(i, j) * product + bias(j)) + residual(i, j);
         }},
        {"no alpha",
         [&](int i, int j, double product) {
           return relu(e.factor(i, j) / 2 * product + e.added(i, j)) + residual(i, j);
         }},
        {"the scale of the column",
         [&](int i, int j, double product) {
           return relu(e.factor(j, i) * product + e.added(i, j)) + residual(i, j);
         }},
        {"the residual before the activation",
         [&](int i, int j, double product) {
           return relu(e.before(i, j, product) + residual(i, j));
         }},
        {"no activation",
         [&](int i, int j, double product) { return e.before(i, j, product) + residual(i, j); }},
    };
    for (const auto& [mistake, then] : mistakes) EXPECT_FALSE(verdict(p, then).ok) << mistake;
  }
}

// A product that is rounded on its way passes where the variant says so, and only there.
TEST(EpilogueBound, KnowsWhoRoundsTwice) {
  const Fp16 p = problem({1, 0, true, false, Scale::NONE, Activation::GELU_ERF});
  const Then twice = [&](int i, int j, double product) {
    const float rounded =
        Number<half>::to_float(Number<half>::from_float(static_cast<float>(product)));
    return p.epilogue.after(i, j, p.epilogue.before(i, j, rounded));
  };
  EXPECT_FALSE(verdict(p, twice).ok);
  EXPECT_TRUE(verdict(p, twice, Rounds::TWICE).ok);
  const Fp16 exact = problem({1, 0, true, false, Scale::NONE, Activation::RELU}, Data::EXACT);
  EXPECT_FALSE(verdict(
                   exact,
                   [&](int i, int j, double product) {
                     return exact.epilogue.after(i, j, exact.epilogue.before(i, j, product + 1));
                   },
                   Rounds::TWICE)
                   .ok);
}

TEST(EpilogueBound, OfNoProductIsTheEpilogueOfZero) {
  const Fp16 p =
      problem({1, 2, true, false, Scale::NONE, Activation::RELU}, Data::EXACT, {5, 6, 0});
  const Output<half> reference = reference_output(p);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 6; ++j) {
      const double x =
          2 * Number<half>::to_float(p.epilogue.addend[static_cast<size_t>(i * p.ldc + j)]) +
          Number<half>::to_float(p.epilogue.bias[static_cast<size_t>(j)]);
      EXPECT_EQ(std::max(x, 0.0), Number<half>::to_float(reference.row(i)[j]));
    }
}

}  // namespace
}  // namespace ladder::harness
