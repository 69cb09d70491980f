// Problems of 8 bits: how B lies, the factors of blocks, what is exact, and what the bounds let
// through of sums that a tensor core has made.
#include <gtest/gtest.h>

#include "cpu_device/tensor_core.h"
#include "harness/problem.h"
#include "harness/random.h"

namespace ladder::harness {
namespace {

using cpu_device::Fp8;

// A * B by the tensor core's rules, the sums of each `part` of K added up in fp32; and the
// epilogue.
template <class In>
Output<bf16> by_tensor_core(const Problem<In, bf16>& p, int part, Fp8 type) {
  constexpr int STEP = 32, COLUMNS = 8;
  const auto [M, N, K] = p.shape;
  Output<bf16> output = p.make_output();
  output.poison();
  for (int i = 0; i < M; ++i)
    for (int j0 = 0; j0 < N; j0 += COLUMNS) {
      float total[COLUMNS] = {};
      for (int k0 = 0; k0 < K; k0 += part) {
        float sums[COLUMNS] = {};
        for (int k = k0; k < std::min(K, k0 + part); k += STEP) {
          uint8_t a[STEP] = {}, b[COLUMNS * STEP] = {};
          for (int e = 0; e < std::min(STEP, K - k); ++e) {
            a[e] = p.a[static_cast<size_t>(i * p.lda + k + e)].__x;
            for (int j = 0; j < std::min(COLUMNS, N - j0); ++j)
              b[j * STEP + e] = p.b[static_cast<size_t>((j0 + j) * p.ldb + k + e)].__x;
          }
          cpu_device::wgmma_multiply_fp8(a, type, b, type, sums, 1, COLUMNS, STEP);
        }
        for (int j = 0; j < std::min(COLUMNS, N - j0); ++j) {
          const float factor = p.scales_a.empty()
                                   ? 1
                                   : p.scales_a[static_cast<size_t>(k0 / SCALED_K * p.lds_a + i)] *
                                         p.scales_b[static_cast<size_t>(
                                             (j0 + j) / SCALED_N * p.lds_b + k0 / SCALED_K)];
          total[j] = std::fma(sums[j], factor, total[j]);
        }
      }
      for (int j = 0; j < std::min(COLUMNS, N - j0); ++j)
        output.row(i)[j0 + j] = Number<bf16>::from_float(static_cast<float>(
            p.epilogue.after(i, j0 + j, p.epilogue.before(i, j0 + j, total[j]))));
    }
  return output;
}

TEST(Fp8Problem, BIsStoredTransposed) {
  Problem<e4m3, bf16> p({1, 2, 3}, Data::EXACT, 1);
  EXPECT_EQ(16, p.ldb);
  ASSERT_EQ(2 * 16, p.b.size());
  for (size_t k = 0; k < 3; ++k) {
    p.a[k] = e4m3(1.0f + static_cast<float>(k));
    p.b[k] = e4m3(1), p.b[16 + k] = e4m3(k == 1 ? 5.0f : 0.0f);
  }
  EXPECT_EQ((std::vector<std::vector<double>>{{6, 10}}), reference_rows(p, {0}));
}

TEST(Fp8Problem, FactorsOfBlocks) {
  Problem<e4m3, bf16> p({3, 130, 140}, Data::ZEROS, 1, {}, Sums::SCALED);
  EXPECT_EQ(4, p.lds_a);
  EXPECT_EQ(4, p.lds_b);
  ASSERT_EQ(2 * 4, p.scales_a.size());
  ASSERT_EQ(2 * 4, p.scales_b.size());
  p.scales_a[1 * 4 + 2] = 3;  // row 2, from k = 128 on
  p.scales_b[1 * 4 + 1] = 5;  // columns from 128 on, the same k
  p.a[static_cast<size_t>(2 * p.lda + 139)] = e4m3(2);
  p.b[static_cast<size_t>(129 * p.ldb + 139)] = e4m3(7);
  p.b[static_cast<size_t>(127 * p.ldb + 139)] = e4m3(1);
  const auto rows = reference_rows(p, {2});
  EXPECT_EQ(2 * 7 * 3 * 5, rows[0][129]);
  EXPECT_EQ(2 * 1 * 3, rows[0][127]);
}

constexpr int ALL = 1 << 30;
constexpr struct {
  Sums sums;
  int part;
} WAYS[] = {{Sums::FAST, ALL}, {Sums::PROMOTED, SCALED_K}, {Sums::SCALED, SCALED_K}};

TEST(Fp8Bounds, AcceptTheTensorCoresSumsAtEveryDepthAndNoOtherFormat) {
  for (const auto& [sums, part] : WAYS)
    for (const int k : {1, 2, 31, 33, 128, 129, 1000, 4096, 16384}) {
      const Problem<e4m3, bf16> problem({24, 24, k}, Data::UNIFORM, 5, {}, sums);
      const Output<bf16> reference = reference_output(problem);
      const Verdict right =
          verify(by_tensor_core(problem, part, Fp8::E4M3), reference, problem.bound());
      EXPECT_TRUE(right.ok) << "K = " << k << ": " << right.message;
      EXPECT_GT(verify(by_tensor_core(problem, part, Fp8::E5M2), reference, problem.bound()).wrong,
                24 * 24 / 2)
          << "K = " << k;
    }
}

// The error of the sums is that of numbers of 8 bits behind an epilogue, too.
TEST(Fp8Bounds, OfAnEpilogueStartFromThoseOfItsSums) {
  for (const auto& [sums, part] : WAYS) {
    const Problem<e4m3, bf16> problem({24, 24, 4096}, Data::UNIFORM, 5, {}, sums,
                                      {0.01f, 0, true, false, Scale::ROW, Activation::GELU});
    const Output<bf16> reference = reference_output(problem);
    const auto wrong = [&](Fp8 type) {
      return verify(by_tensor_core(problem, part, type), reference, problem.bound(&reference))
          .wrong;
    };
    EXPECT_EQ(0, wrong(Fp8::E4M3));
    EXPECT_GT(wrong(Fp8::E5M2), 24 * 24 / 4);
  }
}

TEST(Fp8Bounds, RefuseTheFactorsOfAnotherBlock) {
  Problem<e4m3, bf16> problem({24, 24, 512}, Data::UNIFORM, 5, {}, Sums::SCALED);
  const Output<bf16> reference = reference_output(problem);
  std::rotate(problem.scales_a.begin(), problem.scales_a.begin() + problem.lds_a,
              problem.scales_a.end());
  EXPECT_GT(verify(by_tensor_core(problem, SCALED_K, Fp8::E4M3), reference, problem.bound()).wrong,
            24 * 24 / 2);
}

// Integers: sums of all ways are equal as far as exact_max_k says.
TEST(Fp8Exact, UpToTheLargestK) {
  for (const auto& [sums, part] : WAYS)
    for (const Data data : {Data::EXACT, Data::CONSTANT}) {
      const int k = std::min(exact_max_k(data, sums), 1 << 14);
      const Problem<e4m3, bf16> problem({24, 24, k}, data, 5, {}, sums);
      EXPECT_TRUE(verify(by_tensor_core(problem, part, Fp8::E4M3), reference_output(problem),
                         problem.bound())
                      .ok)
          << name(data) << ", K = " << k;
    }
}

// What 14 bits cannot hold any more is a multiple of 2: of 9/256 a unit is lost with each product.
TEST(Fp8Exact, ALeftOutPromotionIsSeenByOneConstant) {
  const Problem<e4m3, bf16> problem({8, 8, 4096}, Data::CONSTANT, 5, {}, Sums::PROMOTED);
  const Output<bf16> reference = reference_output(problem);
  EXPECT_TRUE(verify(by_tensor_core(problem, SCALED_K, Fp8::E4M3), reference, problem.bound()).ok);
  EXPECT_EQ(64, verify(by_tensor_core(problem, ALL, Fp8::E4M3), reference, problem.bound()).wrong);
}

TEST(Fp8Poison, IsNoNumberInAnyFormat) {
  EXPECT_TRUE(std::isnan(Number<bf16>::to_float(poison<bf16>())));
  e4m3 x;
  e5m2 y;
  std::memset(static_cast<void*>(&x), POISON, 1), std::memset(static_cast<void*>(&y), POISON, 1);
  EXPECT_TRUE(std::isnan(Number<e4m3>::to_float(x)));
  EXPECT_TRUE(std::isnan(Number<e5m2>::to_float(y)));
}

}  // namespace
}  // namespace ladder::harness
