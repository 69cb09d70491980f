// The check must reject every kind of wrong result and accept every right one.
#include "harness/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/problem.h"

namespace ladder::harness {
namespace {

template <class T>
class Verify : public testing::Test {
 protected:
  Problem<T, T> problem{{20, 30, 40}, Data::UNIFORM, 5, {0, 0, PER_16_BYTES<T>}};
  Output<T> reference = reference_output(problem);

  // The reference as a run would leave it: poison wherever C is not.
  Output<T> right() const {
    Output<T> output = problem.make_output();
    output.poison();
    for (int i = 0; i < output.rows; ++i) std::copy_n(reference.row(i), output.cols, output.row(i));
    return output;
  }
  Verdict check(const Output<T>& output) const {
    return verify(output, reference, problem.bound());
  }
  void expect_rejected(const Output<T>& output, const std::string& message) const {
    const Verdict verdict = check(output);
    EXPECT_FALSE(verdict.ok);
    EXPECT_NE(verdict.message.find(message), std::string::npos) << verdict.message;
  }
  static T number(double x) { return Number<T>::from_float(static_cast<float>(x)); }
};
using Types = testing::Types<float, half>;
TYPED_TEST_SUITE(Verify, Types);

TYPED_TEST(Verify, AcceptsTheReference) {
  const Verdict verdict = this->check(this->right());
  EXPECT_TRUE(verdict.ok) << verdict.message;
  EXPECT_EQ(0, verdict.max_error);
  EXPECT_GT(verdict.bound, 0);
}

TYPED_TEST(Verify, RejectsNaN) {
  Output<TypeParam> output = this->right();
  output.row(3)[4] = this->number(std::nan(""));
  this->expect_rejected(output, "row 3, column 4: got nan");
  EXPECT_TRUE(std::isnan(this->check(output).max_error));
}

TYPED_TEST(Verify, RejectsNaNInTheReference) {
  this->reference.row(3)[4] = this->number(std::nan(""));
  Output<TypeParam> output = this->right();
  output.row(3)[4] = this->number(1);
  EXPECT_FALSE(this->check(output).ok);
}

TYPED_TEST(Verify, RejectsInfinity) {
  Output<TypeParam> output = this->right();
  output.row(0)[0] = this->number(INFINITY);
  this->expect_rejected(output, "got inf");
}

TYPED_TEST(Verify, RejectsOneUnwrittenElement) {
  Output<TypeParam> output = this->right();
  output.row(19)[29] = poison<TypeParam>();
  this->expect_rejected(output, "row 19, column 29: got nothing, expected");
}

TYPED_TEST(Verify, RejectsNothingWritten) {
  Output<TypeParam> output = this->right();
  output.poison();
  this->expect_rejected(output, "600 of 600 elements are wrong");
}

TYPED_TEST(Verify, CountsWrongElementsAndNamesTheFirstAndTheWorst) {
  Output<TypeParam> output = this->right();
  output.row(7)[8] = this->number(1000);
  output.row(9)[2] = this->number(-20000);
  output.row(9)[3] = this->number(1000);
  this->expect_rejected(output, "row 7, column 8: got 1000, expected ");
  this->expect_rejected(output, "3 of 600 elements are wrong");
  EXPECT_NEAR(20000, this->check(output).max_error, 20);
}

TYPED_TEST(Verify, RejectsTwiceTheBoundAndAcceptsHalfOfIt) {
  for (const double factor : {-2.0, -0.5, 0.5, 2.0}) {
    Output<TypeParam> output = this->right();
    const double expected = Number<TypeParam>::to_float(output.row(5)[6]);
    output.row(5)[6] = this->number(expected + factor * this->problem.bound()(5, 6, expected));
    EXPECT_EQ(std::abs(factor) < 1, this->check(output).ok) << factor;
  }
}

TYPED_TEST(Verify, RejectsAWritePastARow) {
  Output<TypeParam> output = this->right();
  output.row(6)[30] = this->number(0);
  this->expect_rejected(output, "wrote past the end of row 6 of C, to column 30; C is 20 x 30");
}

TYPED_TEST(Verify, RejectsAWritePastC) {
  Output<TypeParam> output = this->right();
  output.row(20)[0] = this->number(0);
  this->expect_rejected(output,
                        "wrote past the end of C, to the place of row 20, column 0; C is 20 x 30");
}

TYPED_TEST(Verify, RejectsAWriteBeforeC) {
  Output<TypeParam> output = this->right();
  output.row(0)[-1] = this->number(0);
  this->expect_rejected(output, "wrote before C, to the place of element -1");
}

// What a kernel may store where it has nothing to store: it is seen, whatever the NaN.
TYPED_TEST(Verify, RejectsAnyNaNOutsideC) {
  const uint32_t patterns[] = {0xFFFFFFFF, 0x7FFFFFFF, 0x7FC00000, 0xFFC00000,
                               0x7FFF7FFF, 0x7E007E00, 0xFE00FE00};
  for (const uint32_t pattern : patterns) {
    TypeParam nan;
    std::memcpy(static_cast<void*>(&nan), &pattern, sizeof nan);
    Output<TypeParam> output = this->right();
    output.row(6)[30] = nan;
    this->expect_rejected(output, "wrote past the end of row 6");
    output = this->right();
    output.row(20)[5] = nan;
    this->expect_rejected(output, "row 20, column 5; C is 20 x 30");
  }
}

// Rows are compared in up to 64 parts, of which none may be left out, nor a row between them.
TYPED_TEST(Verify, SeesEveryRowAndColumnOfManyParts) {
  for (const int rows : {63, 64, 65, 150}) {
    const Problem<TypeParam, TypeParam> problem({rows, 18, 10}, Data::UNIFORM, 5);
    const Output<TypeParam> reference = reference_output(problem);
    Output<TypeParam> output = problem.make_output();
    output.poison();
    for (int i = 0; i < rows; ++i) std::copy_n(reference.row(i), output.cols, output.row(i));
    EXPECT_TRUE(verify(output, reference, problem.bound()).ok);
    for (int i = 0; i < rows; ++i) {
      const int j = i % 18;
      const TypeParam right = output.row(i)[j];
      output.row(i)[j] = this->number(Number<TypeParam>::to_float(right) + 1);
      const Verdict verdict = verify(output, reference, problem.bound());
      EXPECT_FALSE(verdict.ok) << i << " of " << rows;
      EXPECT_EQ(1, verdict.wrong) << i << " of " << rows;
      EXPECT_EQ(0u, verdict.message.find("row " + std::to_string(i) + ", column " +
                                         std::to_string(j) + ": got "))
          << verdict.message;
      EXPECT_NEAR(1, verdict.max_error, 0.01);
      output.row(i)[j] = right;
      output.row(i)[output.cols] = this->number(0);
      EXPECT_EQ("wrote past the end of row " + std::to_string(i) + " of C, to column 18; C is " +
                    std::to_string(rows) + " x 18",
                verify(output, reference, problem.bound()).message);
      output.row(i)[output.cols] = poison<TypeParam>();
    }
  }
}

TYPED_TEST(Verify, CountsTheWrongElementsOfAllParts) {
  const Problem<TypeParam, TypeParam> problem({150, 20, 10}, Data::UNIFORM, 5);
  const Output<TypeParam> reference = reference_output(problem);
  Output<TypeParam> output = problem.make_output();
  output.poison();
  const Verdict verdict = verify(output, reference, problem.bound());
  EXPECT_EQ(150 * 20, verdict.wrong);
  EXPECT_EQ(0u, verdict.message.find("row 0, column 0: ")) << verdict.message;
}

TYPED_TEST(Verify, ExactModeAsksForEquality) {
  const Problem<TypeParam, TypeParam> exact({20, 30, 40}, Data::EXACT, 5);
  const Output<TypeParam> reference = reference_output(exact);
  Output<TypeParam> output = exact.make_output();
  output.poison();
  for (int i = 0; i < output.rows; ++i) std::copy_n(reference.row(i), output.cols, output.row(i));
  EXPECT_TRUE(verify(output, reference, exact.bound()).ok);
  const float next = std::nextafter(Number<TypeParam>::to_float(output.row(1)[1]), 1e9f);
  output.row(1)[1] = this->number(next + (sizeof(TypeParam) == 2 ? 1 : 0));
  EXPECT_FALSE(verify(output, reference, exact.bound()).ok);
}

// B * A instead of A * B: nothing in the data may make the two alike.
TYPED_TEST(Verify, RejectsSwappedOperands) {
  for (const Data data : {Data::UNIFORM, Data::EXACT}) {
    const Problem<TypeParam, TypeParam> right({32, 32, 32}, data, 5);
    Problem<TypeParam, TypeParam> swapped = right;
    std::swap(swapped.a, swapped.b);
    const Verdict verdict =
        verify(reference_output(swapped), reference_output(right), right.bound());
    EXPECT_FALSE(verdict.ok);
    EXPECT_GT(verdict.wrong, 900);  // of 1024
  }
}

// A product accumulated in fp32, k by k in the given order.
template <class T>
Output<T> accumulate_in_fp32(const Problem<T, T>& p, int k_end, bool backwards, int chunk) {
  Output<T> output = p.make_output();
  output.poison();
  for (int i = 0; i < p.shape.m; ++i)
    for (int j = 0; j < p.shape.n; ++j) {
      float total = 0, part = 0;
      for (int step = 0; step < k_end; ++step) {
        const int k = backwards ? k_end - 1 - step : step;
        part = std::fma(Number<T>::to_float(p.a[static_cast<size_t>(i * p.lda + k)]),
                        Number<T>::to_float(p.b[static_cast<size_t>(k * p.ldb + j)]), part);
        if (step % chunk == chunk - 1) {
          total += part;
          part = 0;
        }
      }
      output.row(i)[j] = Number<T>::from_float(total + part);
    }
  return output;
}

TYPED_TEST(Verify, AcceptsEveryOrderAtEveryDepthAndRejectsAMissingProduct) {
  for (const int k : {0, 1, 2, 3, 4, 5, 17, 64, 255, 1000, 4096, 16384}) {
    const Problem<TypeParam, TypeParam> problem({24, 24, k}, Data::UNIFORM, 5);
    const Output<TypeParam> reference = accumulate_in_fp32(problem, k, false, 1 << 30);
    for (const int chunk : {1, 16, 1 << 30})
      for (const bool backwards : {false, true}) {
        const Verdict verdict =
            verify(accumulate_in_fp32(problem, k, backwards, chunk), reference, problem.bound());
        EXPECT_TRUE(verdict.ok) << "K = " << k << ": " << verdict.message;
      }
    if (k > 0) {
      const Output<TypeParam> short_of_one = accumulate_in_fp32(problem, k - 1, false, 1 << 30);
      EXPECT_GT(verify(short_of_one, reference, problem.bound()).wrong, 24 * 24 / 4) << "K = " << k;
    }
  }
}

}  // namespace
}  // namespace ladder::harness
