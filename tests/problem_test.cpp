#include "harness/problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace ladder::harness {
namespace {

TEST(Problem, LeadingDimensionsAreMultiplesOf16Bytes) {
  EXPECT_EQ(0, leading_dimension<float>(0));
  EXPECT_EQ(4, leading_dimension<float>(1));
  EXPECT_EQ(4, leading_dimension<float>(4));
  EXPECT_EQ(8, leading_dimension<float>(5));
  EXPECT_EQ(8, leading_dimension<half>(1));
  EXPECT_EQ(16, leading_dimension<half>(9));
}

TEST(Problem, PaddingIsNaNAndDataIsNot) {
  const Problem<float, float> p({3, 5, 7}, Data::UNIFORM, 1, {4, 8, 0});
  ASSERT_EQ(12, p.lda);
  ASSERT_EQ(16, p.ldb);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < p.lda; ++k)
      EXPECT_EQ(k >= 7, std::isnan(p.a[static_cast<size_t>(i * p.lda + k)]));
  for (int k = 0; k < 7; ++k)
    for (int j = 0; j < p.ldb; ++j)
      EXPECT_EQ(j >= 5, std::isnan(p.b[static_cast<size_t>(k * p.ldb + j)]));
}

TEST(Problem, PaddingDoesNotChangeTheData) {
  const Problem<float, float> p({3, 5, 7}, Data::UNIFORM, 1),
      q({3, 5, 7}, Data::UNIFORM, 1, {4, 8});
  EXPECT_EQ(reference_rows(p, {0, 1, 2}), reference_rows(q, {0, 1, 2}));
}

TEST(Problem, EachMatrixMayBeStoredTransposed) {
  for (const Layout layout : LAYOUTS) {
    SCOPED_TRACE(name(layout));
    Problem<float, float> p({2, 3, 5}, Data::EXACT, 1, {4, 8}, Sums::FP32, {}, layout);
    EXPECT_EQ(layout.transposed_a ? 8 : 12, p.lda);  // 2 or 5 elements, 4 beside 4 or 8
    EXPECT_EQ(layout.transposed_b ? 16 : 12, p.ldb);
    ASSERT_EQ(static_cast<size_t>(p.lda * (layout.transposed_a ? 5 : 2)), p.a.size());
    ASSERT_EQ(static_cast<size_t>(p.ldb * (layout.transposed_b ? 3 : 5)), p.b.size());
    EXPECT_EQ(4, p.padding().a);
    EXPECT_EQ(8, p.padding().b);
    std::fill(p.a.begin(), p.a.end(), 0.0f);
    std::fill(p.b.begin(), p.b.end(), 0.0f);
    p.a[static_cast<size_t>(layout.transposed_a ? 4 * p.lda + 1 : 1 * p.lda + 4)] = 7;  // A[1][4]
    p.b[static_cast<size_t>(layout.transposed_b ? 2 * p.ldb + 4 : 4 * p.ldb + 2)] = 3;  // B[4][2]
    EXPECT_EQ((std::vector<std::vector<double>>{{0, 0, 0}, {0, 0, 21}}), reference_rows(p, {0, 1}));
  }
}

TEST(Problem, NormsAndReferenceOfKnownMatrices) {
  Problem<float, float> p({2, 2, 2}, Data::EXACT, 1);
  const auto set = [](std::vector<float>& matrix, std::vector<float> values) {
    for (size_t i = 0; i < 4; ++i) matrix[i / 2 * 4 + i % 2] = values[i];
  };
  set(p.a, {1, 2, 3, 4});
  set(p.b, {5, 6, 7, 8});
  EXPECT_EQ((std::vector<std::vector<double>>{{43, 50}, {19, 22}}), reference_rows(p, {1, 0}));
  EXPECT_EQ(50, reference_output(p).row(1)[1]);

  const Problem<half, half> q({1, 1, 100}, Data::EXACT, 1);
  double a = 0, b = 0;
  for (size_t k = 0; k < 100; ++k) {
    a += std::pow(Number<half>::to_float(q.a[k]), 2);
    b += std::pow(Number<half>::to_float(q.b[8 * k]), 2);
  }
  EXPECT_DOUBLE_EQ(std::sqrt(a), q.row_norms[0]);
  EXPECT_DOUBLE_EQ(std::sqrt(b), q.column_norms[0]);
}

TEST(Problem, CheckAgainstDoubleFindsOneWrongElement) {
  for (const Data data : {Data::EXACT, Data::WIDE, Data::ZEROS, Data::CONSTANT, Data::UNIFORM}) {
    const Problem<half, half> p({5, 6, 70}, data, 1);
    Output<half> output = reference_output(p);
    EXPECT_EQ("", check_against_double(p, output, {0, 4}));
    output.row(4)[5] = __float2half(Number<half>::to_float(output.row(4)[5]) + 1);
    EXPECT_EQ("", check_against_double(p, output, {0, 3}));
    EXPECT_NE(std::string::npos,
              check_against_double(p, output, {0, 4}).find("row 4, column 5: got"));
  }
}

// Who checks the checker: what is not a number is not right, though it is not larger than a bound.
TEST(Problem, CheckAgainstDoubleFindsNaN) {
  for (const Data data : {Data::EXACT, Data::UNIFORM}) {
    const Problem<float, float> p({90, 6, 70}, data, 1);
    Output<float> output = reference_output(p);
    output.row(89)[5] = std::nanf("");
    EXPECT_EQ("", check_against_double(p, output, {0, 88}));
    EXPECT_NE(std::string::npos,
              check_against_double(p, output, {0, 89}).find("row 89, column 5: got nan"));
    output.row(89)[5] = INFINITY;
    EXPECT_NE("", check_against_double(p, output, {89}));
  }
}

TEST(Problem, WideIntegersAreAsWideAsExactSumsAllow) {
  EXPECT_EQ(512, (wide<float, float>(64, Sums::FP32).magnitude));  // 64 * 2^9 * 2^9 = 2^24
  EXPECT_EQ(508, (wide<float, float>(65, Sums::FP32).magnitude));
  EXPECT_EQ(1, (wide<float, float>(1 << 24, Sums::FP32).magnitude));
  EXPECT_EQ(127, (wide<int8_t, int32_t>(1000, Sums::FP32).magnitude));
  EXPECT_EQ(16, (wide<e4m3, bf16>(1, Sums::FAST).magnitude));
  EXPECT_EQ(8, (wide<e5m2, bf16>(1, Sums::FAST).magnitude));
  // For certain, and by chance.
  EXPECT_EQ(0, (wide<half, half>(2, Sums::FP32).too_large));
  const Wide halves = wide<half, half>(128, Sums::FP32);
  EXPECT_EQ(5, halves.magnitude);
  EXPECT_DOUBLE_EQ(2 * std::exp(-0x1p22 / (2.0 * 128 * 625)), halves.too_large);
  EXPECT_LT(halves.too_large, 0x1p-20);
  EXPECT_GE((wide<e4m3, bf16>(1 << 14, Sums::FAST).too_large), 0x1p-20);  // even of -1, 0 and 1
}

TEST(Problem, RunsAreAsManyAsTheBoundNeeds) {
  for (const Wide w : {Wide{4096}, Wide{512}, Wide{5, 7e-12}, Wide{2, 0.2}, Wide{1}}) {
    const double unseen = 2.0 / w.values() + w.too_large;
    EXPECT_LT(std::pow(unseen, w.runs()), 0x1p-60);
    EXPECT_GE(std::pow(unseen, w.runs() - 1), 0x1p-60);
  }
  EXPECT_EQ(7, Wide{512}.runs());
  EXPECT_EQ(0, (Wide{1, 0.5}.runs()));  // no number is enough
}

TEST(Problem, WideIntegersAreAllInAAndB) {
  const Problem<float, float> p({300, 300, 64}, Data::WIDE, 1);
  for (const std::vector<float>& matrix : {p.a, p.b}) {
    std::set<float> values;
    for (const float x : matrix)
      if (!std::isnan(x)) values.insert(x);
    EXPECT_EQ(1025, values.size());
    EXPECT_EQ(-512, *values.begin());
    EXPECT_EQ(512, *values.rbegin());
  }
}

TEST(Problem, SeedsAndExactDataDiffer) {
  const Shape shape{3, 5, 7};
  const Problem<float, float> one(shape, Data::UNIFORM, 1), two(shape, Data::UNIFORM, 2),
      again(shape, Data::UNIFORM, 1), exact(shape, Data::EXACT, 1);
  EXPECT_EQ(reference_rows(one, {0, 1, 2}), reference_rows(again, {0, 1, 2}));
  EXPECT_NE(reference_rows(one, {0, 1, 2}), reference_rows(two, {0, 1, 2}));
  EXPECT_NE(one.b[0], two.b[0]);
  for (int k = 0; k < 7; ++k) EXPECT_EQ(std::round(exact.a[k]), exact.a[k]);
}

TEST(Problem, ZerosAndTheConstantAreWhatTheySay) {
  const Shape shape{3, 5, 7};
  const Problem<half, half> zeros(shape, Data::ZEROS, 1), constant(shape, Data::CONSTANT, 1);
  EXPECT_EQ(0, Number<half>::to_float(reference_output(zeros).row(2)[4]));
  EXPECT_EQ(7 * 9 / 256.0f, Number<half>::to_float(reference_output(constant).row(2)[4]));
  EXPECT_EQ(0, zeros.bound()(0, 0, 0));
  EXPECT_EQ(0, constant.bound()(0, 0, 1));
}

// Of sums in fp32, rounded to Out.
TEST(Problem, EachGroupHasItsOwnMatrix) {
  const Problem<float, float> p({5, 3, 2}, Data::EXACT, 1, {}, Sums::FP32, {}, {}, {2, 0, 3});
  EXPECT_EQ((std::vector<int>{2, 2, 5}), p.ends);
  ASSERT_EQ(3 * 2 * static_cast<size_t>(p.ldb), p.b.size());
  const int group_of_row[] = {0, 0, 2, 2, 2};
  const Output<float> reference = reference_output(p);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(group_of_row[i], p.group_of(i));
    for (int j = 0; j < 3; ++j) {
      const double* const b_norms = p.column_norms.data() + group_of_row[i] * 3;
      double sum = 0, squares = 0;
      for (int k = 0; k < 2; ++k) {
        const double b = p.at_b(group_of_row[i] * 2 + k, j);
        sum += p.at_a(i, k) * b;
        squares += b * b;
      }
      EXPECT_EQ(sum, reference.row(i)[j]);
      EXPECT_DOUBLE_EQ(std::sqrt(squares), b_norms[j]);
    }
  }
  EXPECT_EQ("", check_against_double(p, reference, {0, 1, 2, 3, 4}));
}

template <class Out>
double bound(int K, double row_norm, double column_norm, double reference) {
  return difference_bound<Out, float>(K, row_norm, column_norm, reference);
}

TEST(Bound, CoversOneRoundingEachAtDepthOne) {
  // c and c' are both roundings of a * b.
  const double u = 0x1p-24;
  EXPECT_GE(bound<float>(1, 0.5, 0.5, 0.25), 2 * u * 0.25);
  EXPECT_LT(bound<float>(1, 0.5, 0.5, 0.25), 10 * u * 0.25);
}

TEST(Bound, CoversSubnormalHalves) {
  EXPECT_GE(bound<half>(1, 0, 0, 0), 0x1p-25);
}

TEST(Bound, GrowsWithDepthAsItsFormulaSays) {
  const double one = bound<float>(100, 1, 1, 0), four = bound<float>(400, 1, 1, 0);
  EXPECT_NEAR(2, four / one, 0.01);
}

}  // namespace
}  // namespace ladder::harness
