// Every configuration of the stage for few rows, of which its own tests have a part: at shapes as
// chance has them, exact, on the CPU device.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "14_few_rows.cuh"
#include "cpu_device/block.h"
#include "cpu_device/findings.h"
#include "harness/buffers.h"
#include "harness/problem.h"
#include "harness/verify.h"

namespace ladder::harness {
namespace {

class FewRows : public testing::Test {
 protected:
  void SetUp() override {
    cpu_device::settings() = {};
    cpu_device::settings().count = false;
    cpu_device::take_findings();
  }
  void TearDown() override { cpu_device::settings() = {}; }

  // Mostly few rows and columns, and sometimes an element more or less than a whole tile.
  Shape any_shape() {
    const auto size = [&](int most) {
      const int value = std::uniform_int_distribution(1, most)(random_);
      const int edge = std::uniform_int_distribution(0, 3)(random_);
      return edge < 2 ? value : std::max(1, (value + 63) / 64 * 64 + edge - 3);
    };
#ifdef LADDER_NO_TRACE  // the sanitizers make each take several times as long
    return {size(150), size(100), size(300)};
#else
    return {size(150), size(400), size(900)};
#endif
  }
  void expect_right(const std::string& name, const GemmFunction<half, half>& gemm) {
    const Shape shape = any_shape();
    const auto some = [&] { return std::uniform_int_distribution(0, 2)(random_) * 8; };
    const Problem<half, half> problem(shape, Data::EXACT, random_(), {some(), some(), some()});
    BufferSets<half, half> sets(problem, 1);
    const Verdict verdict = verify(sets.run_poisoned(gemm, nullptr), reference_output(problem),
                                   [](int, int, double) { return 0.0; });
    const std::string where = name + " at " + std::to_string(shape.m) + "x" +
                              std::to_string(shape.n) + "x" + std::to_string(shape.k);
    EXPECT_TRUE(verdict.ok) << where << ": " << verdict.message;
    for (const cpu_device::Finding& finding : cpu_device::take_findings())
      ADD_FAILURE() << where << ": " << finding.text();
  }

  std::mt19937 random_{14};
};

TEST_F(FewRows, EveryConfiguration) {
  for (const auto& c : few_rows::CONFIGURATIONS<half>)
    for (const int blocks : few_rows::BLOCKS)
      if (c.buffers(blocks) > 1)
        expect_right(few_rows::name_of(c, blocks),
                     [&](const Gemm<half, half>& p) { few_rows::gemm_as(c, p, blocks); });
}
TEST_F(FewRows, ItsChoices) {
  for (int i = 0; i < 30; ++i) expect_right("few_rows", few_rows::gemm<half>);
}
// Sums are added in an order that nothing changes.
TEST_F(FewRows, AreTheSameEveryTime) {
  const Problem<half, half> problem({24, 200, 3000}, Data::UNIFORM, 14);
  const GemmFunction<half, half> gemm = few_rows::gemm_16x64<2>;
  BufferSets<half, half> sets(problem, 1);
  const Output<half> once = sets.run_poisoned(gemm, nullptr);
  cpu_device::settings().reverse = true;
  const Output<half> again = sets.run_poisoned(gemm, nullptr);
  cpu_device::settings().reverse = false;
  EXPECT_TRUE(verify(again, once, [](int, int, double) { return 0.0; }).ok);
}

}  // namespace
}  // namespace ladder::harness
