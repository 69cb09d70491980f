// 17 to 17c with their other format: e5m2 is a parameter of the same kernels. On the GPU or on the
// CPU device.
#include <gtest/gtest.h>

#include "17_fp8.cuh"
#include "17b_promoted.cuh"
#include "17c_block_scaled.cuh"
#include "gpu_test.h"
#include "harness/buffers.h"

namespace ladder::harness {
namespace {

using E5m2 = GpuTest<90, true>;
using BlockScaled = E5m2;

void expect_correct(const GemmFunction<e5m2, bf16>& gemm, Sums sums) {
  for (const Shape shape : {Shape{1, 1, 1}, Shape{67, 131, 45}, Shape{257, 263, 651}})
    for (const Data data : {Data::EXACT, Data::UNIFORM}) {
      const Problem<e5m2, bf16> problem(shape, data, 7, {}, sums);
      BufferSets<e5m2, bf16> sets(problem, 1);
      const Verdict verdict =
          verify(sets.run_poisoned(gemm, nullptr), reference_output(problem), problem.bound());
      EXPECT_TRUE(verdict.ok) << shape.m << " x " << shape.n << " x " << shape.k << " "
                              << name(data) << ": " << verdict.message;
    }
}

TEST_F(E5m2, Fast) {
  expect_correct(fp8::gemm<e5m2>, Sums::FAST);
}
TEST_F(E5m2, Promoted) {
  expect_correct(promoted::gemm<e5m2>, Sums::PROMOTED);
}
TEST_F(E5m2, BlockScaled) {
  expect_correct(block_scaled::gemm<e5m2>, Sums::SCALED);
}
// The scales that a launcher cannot take, by name.
TEST_F(BlockScaled, RefusesBadScales) {
  const Problem<e4m3, bf16> problem({40, 40, 300}, Data::EXACT, 7, {}, Sums::SCALED);
  const BufferSets<e4m3, bf16> sets(problem, 1);
  const auto refusal = [&](auto change) -> std::string {
    Gemm<e4m3, bf16> p = sets.gemm(0, nullptr);
    change(p.scales);
    try {
      block_scaled::gemm(p);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ("this kernel needs the scales of A and of B", refusal([](auto& s) { s.b = nullptr; }));
  EXPECT_EQ("the leading dimension of A's scales is 36, but a row of them has 40",
            refusal([](auto& s) { s.lda = 36; }));
  EXPECT_EQ("the leading dimension of B's scales is 6, but this kernel needs a multiple of 4",
            refusal([](auto& s) { s.ldb = 6; }));
  EXPECT_NE(std::string::npos, refusal([](auto& s) { ++s.a; }).find("the address of A's scales"));
}

}  // namespace
}  // namespace ladder::harness
