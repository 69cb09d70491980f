// 07b, 13, 13b, 14 and 16 in bf16, which their stages' own tests have in fp16: a tile of each, on
// the CPU device. The library's tests have all of them on a GPU.
#include <gtest/gtest.h>

#include <string>

#include "07b_swizzle.cuh"
#include "13_fit_the_waves.cuh"
#include "13b_ping_pong.cuh"
#include "14_few_rows.cuh"
#include "16_fused_epilogue.cuh"
#include "cpu_device/block.h"
#include "cpu_device/findings.h"
#include "harness/buffers.h"

namespace ladder::harness {
namespace {

using Problem16 = Gemm<bf16, bf16>;

class Bf16 : public testing::Test {
 protected:
  void SetUp() override {
    cpu_device::settings() = {};
    cpu_device::settings().count = false;
    cpu_device::settings().multiprocessors = 5;
    cpu_device::take_findings();
  }
  void TearDown() override { cpu_device::settings() = {}; }

  // Both kinds of data: small integers show any element that is wrong, and what is rounded has to
  // be rounded to bf16.
  void expect_right(const GemmFunction<bf16, bf16>& gemm, const EpilogueChoice& of_integers = {},
                    const EpilogueChoice& of_any = {}, Rounds rounds = Rounds::ONCE) {
    for (const Shape shape : {Shape{150, 200, 130}, Shape{17, 133, 70}})
      for (const Data data : {Data::EXACT, Data::UNIFORM}) {
        const Problem<bf16, bf16> problem(shape, data, 7, {8, 16, 24}, Sums::FP32,
                                          data == Data::EXACT ? of_integers : of_any);
        BufferSets<bf16, bf16> sets(problem, 1);
        const Output<bf16> reference = reference_output(problem);
        const Verdict verdict =
            verify(sets.run_poisoned(gemm, nullptr), reference, problem.bound(&reference, rounds));
        EXPECT_TRUE(verdict.ok) << shape.m << " rows: " << verdict.message;
        for (const cpu_device::Finding& finding : cpu_device::take_findings())
          ADD_FAILURE() << finding.text();
      }
  }
};

TEST_F(Bf16, Swizzle) {
  expect_right(swizzle::gemm<bf16>);
}
TEST_F(Bf16, FitTheWaves) {
  using namespace fit_the_waves;
  expect_right([](const Problem16& p) { gemm_as(configuration<bf16, 72, 128>(), p); });
}
TEST_F(Bf16, PingPong) {
  using namespace ping_pong;
  expect_right(
      [](const Problem16& p) { gemm_as(configuration<bf16, Order::IN_TURN, 56, 64>(), p); });
}
TEST_F(Bf16, FewRows) {
  using namespace few_rows;
  expect_right([](const Problem16& p) { gemm_as(configuration<bf16, 16, 64, 2>(), p, 1); });
}
TEST_F(Bf16, Epilogue) {
  const EpilogueChoice of_integers{2, -3, true, true, Scale::ROW, Activation::RELU},
      of_any{0.5f, -1.5f, true, true, Scale::ROW, Activation::SILU};
  expect_right(
      [](const Problem16& p) {
        fused_epilogue::gemm_of_tiles(fused_epilogue::together<bf16, 64, 128>(), p);
      },
      of_integers, of_any);
  // After a product that is in memory, here of 14.
  expect_right(
      [](const Problem16& p) {
        Problem16 product = p;
        product.epilogue = {};
        few_rows::gemm_as(few_rows::configuration<bf16, 16, 64, 2>(), product, 1);
        epilogue_pass::launch_epilogue<bf16>(p, p.C);
      },
      of_integers, of_any, Rounds::TWICE);
}

}  // namespace
}  // namespace ladder::harness
