// Products of e4m3 with scales and a bias, by each tile, exact and not. On the GPU or on the CPU
// device.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "scaled.cuh"

namespace ladder::harness {
namespace {

using scaled::Adds;

class Scaled : public GpuTest<90, true> {
 protected:
  // Factors of rows or of columns, of which the others are 1; or of the matrices, alpha and 1.
  void expect_right(const scaled::Configuration& c, Adds adds, Shape shape,
                    const EpilogueChoice& choice, Data data) {
    const Sums sums = adds == Adds::FAST ? Sums::FAST : Sums::PROMOTED;
    const Problem<e4m3, bf16> problem(shape, data, 7, {16, 32, 8}, sums, choice);
    BufferSets<e4m3, bf16> sets(problem, 1);
    DeviceBuffer<float> ones(static_cast<size_t>(std::max(shape.m, shape.n))), alpha(1);
    ones.upload(std::vector<float>(static_cast<size_t>(std::max(shape.m, shape.n)), 1));
    alpha.upload({choice.alpha});
    const auto gemm = [&](const Gemm<e4m3, bf16>& p) {
      scaled::Problem q{p, {ones.get(), ones.get(), choice.scale != Scale::NONE, p.epilogue.bias}};
      if (choice.scale == Scale::NONE) q.factors.a = alpha.get();
      if (choice.scale == Scale::ROW) q.factors.a = p.epilogue.row_scale;
      if (choice.scale == Scale::COLUMN) q.factors.b = p.epilogue.column_scale;
      q.epilogue = {};
      scaled::gemm_as(c, q);
    };
    const Output<bf16> reference = reference_output(problem);
    const Verdict verdict =
        verify(sets.run_poisoned(gemm, nullptr), reference, problem.bound(&reference));
    EXPECT_TRUE(verdict.ok) << c.BM << "x" << c.BN << " at " << shape.m << " x " << shape.n << " x "
                            << shape.k << ": " << choice.formula() << ": " << verdict.message;
  }

  template <size_t COUNT>
  void expect_right(const scaled::Configuration (&all)[COUNT], Adds adds) {
    const EpilogueChoice choices[] = {{1, 0, true, false, Scale::ROW, Activation::NONE},
                                      {1, 0, true, false, Scale::COLUMN, Activation::NONE},
                                      {0.5f, 0, false, false, Scale::NONE, Activation::NONE}};
    for (const scaled::Configuration& c : all)
      for (const EpilogueChoice& choice : choices) {
        expect_right(c, adds, {131, 272, 464}, choice, Data::EXACT);
        expect_right(c, adds, {67, 48, 720}, choice, Data::UNIFORM);
      }
  }
};

TEST_F(Scaled, Fast) {
  expect_right(scaled::FAST, Adds::FAST);
}
TEST_F(Scaled, Promoted) {
  expect_right(scaled::PROMOTED, Adds::PROMOTED);
}
TEST_F(Scaled, RefusesByName) {
  const auto refusal = [](auto change) -> std::string {
    scaled::Problem p{};
    p.M = p.N = p.K = 16, p.lda = p.ldb = p.ldc = 16, p.transposed_b = true;
    change(p);
    try {
      scaled::gemm_as(scaled::FAST[0], p);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ("K is 0, but must be from 1 to 2147482623", refusal([](auto& p) { p.K = 0; }));
  EXPECT_EQ("N is 15, but this kernel needs a multiple of 2", refusal([](auto& p) { p.N = 15; }));
  EXPECT_EQ("the address of b's factors is 4, but this kernel needs a multiple of 8",
            refusal([](auto& p) {
              p.factors.of_rows = true;
              p.factors.b = reinterpret_cast<const float*>(uintptr_t{4});
            }));
  EXPECT_EQ("the address of the bias is 2, but this kernel needs a multiple of 4",
            refusal([](auto& p) { p.factors.bias = reinterpret_cast<const bf16*>(uintptr_t{2}); }));
}

}  // namespace
}  // namespace ladder::harness
