// Every configuration of the kernel for linear layers of few rows: B by rows and by columns, at
// shapes as chance has them, with every kind of epilogue, exact and not. On the GPU or on the CPU
// device.
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "harness/problem.h"
#include "harness/verify.h"
#include "linear_layer.cuh"
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/block.h"
  #include "cpu_device/findings.h"
#endif

namespace ladder::harness {
namespace {

using linear_layer::Configuration;

class LinearLayer : public GpuTest<90, true> {
 protected:
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
    return {size(150), size(300), size(700)};
#endif
  }

  template <class T>
  void expect_right(const Configuration<T>& c, int blocks, const EpilogueChoice& epilogue,
                    bool transposed_b, Data data) {
    const Shape shape = any_shape();
    const auto some = [&] { return std::uniform_int_distribution(0, 2)(random_) * 8; };
    const Problem<T, T> problem(shape, data, random_(), {some(), some(), some()}, Sums::FP32,
                                epilogue, Layout{false, transposed_b});
    const Output<T> reference = reference_output(problem);
    BufferSets<T, T> sets(problem, 1);
    const Variant<T, T> variant("", [&](const Gemm<T, T>& p) { gemm_as(c, p, blocks); });
    const Verdict verdict =
        verify(sets.run_poisoned(variant, nullptr), reference, problem.bound(&reference));
    const std::string where = std::to_string(c.BM) + " rows, split " + std::to_string(c.split) +
                              ", " + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" +
                              std::to_string(shape.k) + (transposed_b ? " NT: " : " NN: ") +
                              epilogue.formula();
    EXPECT_TRUE(verdict.ok) << where << ": " << verdict.message;
#ifdef LADDER_CPU_DEVICE
    for (const cpu_device::Finding& finding : cpu_device::take_findings())
      ADD_FAILURE() << where << ": " << finding.text();
#endif
  }

  template <class T>
  void every_configuration() {
    static const EpilogueChoice EXACT[] = {{},
                                           {1, 0, true, false, Scale::NONE, Activation::RELU},
                                           {2, -3, true, true, Scale::ROW, Activation::RELU},
                                           {-3, 0, true, false, Scale::COLUMN, Activation::NONE},
                                           {1, 1, false, true, Scale::NONE, Activation::NONE}};
    static const EpilogueChoice RANDOM[] = {
        {1, 0, true, false, Scale::NONE, Activation::GELU},
        {0.5f, -1.5f, true, true, Scale::ROW, Activation::SILU},
        {0.25f, 0, true, false, Scale::COLUMN, Activation::GELU_ERF}};
    size_t number = 0;
    for (const Configuration<T>& c : linear_layer::CONFIGURATIONS<T>)
      for (const int blocks : few_rows::BLOCKS)
        for (const bool transposed_b : {false, true}) {
          if (c.buffers(blocks) <= 1) continue;
          expect_right(c, blocks, EXACT[number % std::size(EXACT)], transposed_b, Data::EXACT);
          if (number % 3 == 0)
            expect_right(c, blocks, RANDOM[number / 3 % std::size(RANDOM)], transposed_b,
                         Data::UNIFORM);
          ++number;
        }
  }

  std::mt19937 random_{18};
};

TEST_F(LinearLayer, EveryConfiguration) {
  every_configuration<half>();
}
TEST_F(LinearLayer, EveryConfigurationInBf16) {
  every_configuration<bf16>();
}

}  // namespace
}  // namespace ladder::harness
