// Every configuration of the kernel for linear layers of few rows and of the stages in fp32, and
// one of 18's and 07b, with an epilogue, as the library has them: at shapes as chance has them,
// with every kind of epilogue, exact and not. On the GPU or on the CPU device.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "harness/problem.h"
#include "harness/verify.h"
#include "library/finish_fp32.cuh"
#include "library/finish_pairs.cuh"
#include "library/linear.cuh"
#include "library/plan.h"
#include "library/tiles.cuh"
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/block.h"
  #include "cpu_device/findings.h"
#endif

namespace ladder::harness {
namespace {

using library::Linear, library::linear;

std::string name_of(const library::LinearTile& c) {
  return std::to_string(c.BM) + "x" + std::to_string(c.BN) + ", split " + std::to_string(c.split);
}

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
  void expect_right(const std::string& name, const Variant<T, T>& variant, Shape shape,
                    const EpilogueChoice& epilogue, Layout layout, Data data) {
    const auto some = [&] { return std::uniform_int_distribution(0, 2)(random_) * 8; };
    const Problem<T, T> problem(shape, data, random_(), {some(), some(), some()}, Sums::FP32,
                                epilogue, layout);
    const Output<T> reference = reference_output(problem);
    BufferSets<T, T> sets(problem, 1, {variant});
    const Verdict verdict =
        verify(sets.run_poisoned(variant, nullptr), reference, problem.bound(&reference));
    const std::string where = name + " at " + std::to_string(shape.m) + "x" +
                              std::to_string(shape.n) + "x" + std::to_string(shape.k) + " " +
                              ladder::harness::name(layout) + ": " + epilogue.formula();
    EXPECT_TRUE(verdict.ok) << where << ": " << verdict.message;
#ifdef LADDER_CPU_DEVICE
    for (const cpu_device::Finding& finding : cpu_device::take_findings())
      ADD_FAILURE() << where << ": " << finding.text();
#endif
  }

  // In both forms, each with the next epilogue and another number of buffers.
  template <class T, size_t COUNT>
  void expect_right(const std::array<Linear<T>, COUNT>& all) {
    size_t number = 0;
    for (const Linear<T>& c : all)
      for (const bool transposed_b : {false, true, false, true}) {
        const int wanted = few_rows::BLOCKS[++number % std::size(few_rows::BLOCKS)];
        const int blocks = c.buffers(wanted) > 1 ? wanted : 1;
        const Variant<T, T> variant(
            "", [&](const Gemm<T, T>& p) { c.launch[p.transposed_b](p, blocks); });
        const std::string name = name_of(c.tile);
        const bool is_exact = number % 5 != 0;
        expect_right(name, variant, any_shape(),
                     is_exact ? EXACT[number / 2 % std::size(EXACT)]
                              : RANDOM[number / 5 % std::size(RANDOM)],
                     {false, transposed_b}, is_exact ? Data::EXACT : Data::UNIFORM);
      }
  }

  inline static const EpilogueChoice EXACT[] = {
      {},
      {1, 0, true, false, Scale::NONE, Activation::RELU},
      {2, -3, true, true, Scale::ROW, Activation::RELU},
      {-3, 0, true, false, Scale::COLUMN, Activation::NONE},
      {1, 1, false, true, Scale::NONE, Activation::NONE}};
  // In fp32 without branches.
  inline static const EpilogueChoice BIASED{-3, 0, true, false, Scale::NONE, Activation::RELU};
  inline static const EpilogueChoice RANDOM[] = {
      {1, 0, true, false, Scale::NONE, Activation::GELU},
      {0.5f, -1.5f, true, true, Scale::ROW, Activation::SILU},
      {0.25f, 0, true, false, Scale::COLUMN, Activation::GELU_ERF}};
  std::mt19937 random_{18};
};

TEST_F(LinearLayer, EveryConfiguration) {
  expect_right(library::LINEAR<half>);
}
// With more steps than there are buffers.
TEST_F(LinearLayer, FillsBuffersAgain) {
  for (const auto& c : library::LINEAR<half>)
    for (const bool transposed_b : {false, true}) {
      const int blocks = c.buffers(3) > 1 ? 3 : c.buffers(2) > 1 ? 2 : 1;
      const Variant<half, half> variant(
          "", [&](const auto& p) { c.launch[p.transposed_b](p, blocks); });
      const Shape shape{9, 70, 64 * c.tile.split * (c.buffers(blocks) + 2) - 3};
      expect_right(name_of(c.tile), variant, shape, EXACT[1], {false, transposed_b}, Data::EXACT);
    }
}
TEST_F(LinearLayer, Bf16) {
  expect_right(std::array<Linear<bf16>, 3>{linear<bf16, 16, 64, 2>(), linear<bf16, 64, 64, 1>(),
                                           linear<bf16, 72, 128, 4>()});
}

// The library's fixed tile: a row of C is the same to the bit, alone and among others.
TEST_F(LinearLayer, ARowDoesNotDependOnTheOthers) {
  constexpr int ROW = 77, N = 200;
  for (const bool transposed_b : {false, true}) {
    const Problem<half, half> problem({130, N, 1100}, Data::UNIFORM, 7, {}, Sums::FP32, RANDOM[0],
                                      {false, transposed_b});
    BufferSets<half, half> sets(problem, 1);
    const auto launch = [](const Gemm<half, half>& p) {
      library::launch_linear(library::FIXED_TILE.candidate, p);
    };
    const auto launch_alone = [&](Gemm<half, half> p) {
      p.A += ROW * p.lda, p.C += ROW * p.ldc, p.M = 1;
      launch(p);
    };
    const Output<half> all = sets.run_poisoned(launch, nullptr),
                       alone = sets.run_poisoned(launch_alone, nullptr);
    EXPECT_EQ(0, std::memcmp(all.row(ROW), alone.row(ROW), N * sizeof(half)));
    EXPECT_NE(0, std::memcmp(all.row(ROW + 1), alone.row(ROW + 1), N * sizeof(half)));
  }
}

// A half ends at 65504: the product of a small factor and a large sum is finite all the same.
void expect_128(const Variant<half, half>& variant, Layout layout) {
  EpilogueChoice choice{};
  choice.alpha = 1.0f / 1024;
  Problem<half, half> problem({130, 200, 128}, Data::EXACT, 7, {}, Sums::FP32, choice, layout);
  for (std::vector<half>* matrix : {&problem.a, &problem.b})
    std::fill(matrix->begin(), matrix->end(), __float2half(32));
  BufferSets<half, half> sets(problem, 1);
  const Output<half> output = sets.run_poisoned(variant, nullptr);
  int wrong = 0;
  for (int i = 0; i < 130; ++i)
    for (int j = 0; j < 200; ++j) wrong += !(__half2float(output.row(i)[j]) == 128);
  EXPECT_EQ(0, wrong) << name(layout);
}

// 13's kernel and 13b's, each with one tile.
constexpr tuned::Candidate OF_18[] = {{tuned::Kernel::FIT_THE_WAVES, 64, 128, 1, 1, 1, 1},
                                      {tuned::Kernel::FIT_THE_WAVES, 64, 128, 2, 1, 1, 1},
                                      {tuned::Kernel::PING_PONG, 64, 64, 1, 1, 1, 1}};

void launch_18(const tuned::Candidate& c, const Gemm<half, half>& p) {
  using ptx::Major;
  const FusedAny<half> finish{p.epilogue};
  if (!p.transposed_a)
    library::launch_tile<half, Major::K, Major::K, OF_18>(c, p, finish);
  else if (p.transposed_b)
    library::launch_tile<half, Major::MN, Major::K, OF_18>(c, p, finish);
  else
    library::launch_tile<half, Major::MN, Major::MN, OF_18>(c, p, finish);
}

TEST_F(LinearLayer, ByAKernelOf18) {
  for (const tuned::Candidate& c : OF_18)
    for (const Layout layout : {Layout{false, true}, Layout{true, false}, Layout{true, true}}) {
      const Variant<half, half> variant("", [&](const Gemm<half, half>& p) { launch_18(c, p); });
      for (const EpilogueChoice& epilogue : EXACT)
        expect_right(tuned::name(c), variant, {130, 200, 136}, epilogue, layout, Data::EXACT);
      for (const EpilogueChoice& epilogue : RANDOM)
        expect_right(tuned::name(c), variant, {130, 203, 136}, epilogue, layout, Data::UNIFORM);
      expect_128(variant, layout);
    }
}

template <class Function>
__global__ void activation_kernel(const float* from, float* to, const Function function) {
  to[threadIdx.x] = function(from[threadIdx.x]);
}

// As torch has it: ReLU keeps what is no number, and of minus infinity the others make 0 times it.
TEST_F(LinearLayer, ActivationsOfWhatIsNotFinite) {
  constexpr float INF = std::numeric_limits<float>::infinity(), LARGE = 1e30f,
                  NONE = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> numbers = {-INF, -LARGE, 0, LARGE, INF, NONE};
  const std::pair<Activation, std::vector<float>> table[] = {
      {Activation::NONE, {-INF, -LARGE, 0, LARGE, INF, NONE}},
      {Activation::RELU, {0, 0, 0, LARGE, INF, NONE}},
      {Activation::GELU, {NONE, 0, 0, LARGE, INF, NONE}},
      {Activation::GELU_ERF, {NONE, 0, 0, LARGE, INF, NONE}},
      {Activation::SILU, {NONE, 0, 0, LARGE, INF, NONE}}};
  DeviceBuffer<float> from(numbers.size()), to(numbers.size());
  from.upload(numbers);
  for (const auto& [activation, expected] : table) {
    with_activation(activation, [&](auto function) {
      launch(activation_kernel<decltype(function)>, dim3(1),
             dim3(static_cast<unsigned>(numbers.size())), 0, nullptr, from.get(), to.get(),
             function);
    });
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<float> got(numbers.size());
    to.download(got);
    for (size_t i = 0; i < numbers.size(); ++i)
      for (const double y : {double{got[i]}, activate(activation, numbers[i])})
        EXPECT_TRUE(std::isnan(expected[i]) ? std::isnan(y) : y == expected[i])
            << static_cast<int>(activation) << " of " << numbers[i] << " is " << y;
  }
}

TEST_F(LinearLayer, By07b) {
  const Variant<half, half> variant("", library::launch_and_finish_pairs<half>);
  const Variant<bf16, bf16> of_bf16("", library::launch_and_finish_pairs<bf16>);
  for (const EpilogueChoice& epilogue : EXACT) {
    expect_right("07b", variant, {270, 200, 136}, epilogue, {}, Data::EXACT);
    expect_right("07b in bf16", of_bf16, {270, 200, 136}, epilogue, {}, Data::EXACT);
  }
  for (const EpilogueChoice& epilogue : RANDOM) {
    expect_right("07b", variant, {130, 203, 136}, epilogue, {}, Data::UNIFORM);
    expect_right("07b in bf16", of_bf16, {130, 203, 136}, epilogue, {}, Data::UNIFORM);
  }
  expect_128(variant, {});
}

// Every configuration of 05e and 05d, and 05c, with K divided.
std::vector<Variant<float, float>> in_fp32() {
  std::vector<Variant<float, float>> all;
  for (const auto& c : few_rows_fp32::CONFIGURATIONS)
    all.emplace_back("05e " + few_rows_fp32::name(c),
                     library::FEW_ROWS_AND_FINISH[&c - few_rows_fp32::CONFIGURATIONS]);
  for (const auto& c : split_in_cluster::CONFIGURATIONS)
    all.emplace_back("05d " + split_in_cluster::name(c),
                     library::SPLIT_IN_CLUSTER_AND_FINISH[&c - split_in_cluster::CONFIGURATIONS]);
  all.emplace_back("05c", library::launch_split_k_and_finish, split_k::workspace_bytes);
  return all;
}
TEST_F(LinearLayer, InFp32) {
  size_t number = 0;
  for (const Variant<float, float>& variant : in_fp32()) {
    const EpilogueChoice& inexact = RANDOM[++number % std::size(RANDOM)];
    expect_right(variant.name, variant, {130, 203, 136}, EXACT[2], {}, Data::EXACT);
    expect_right(variant.name, variant, any_shape(), EXACT[number % std::size(EXACT)], {},
                 Data::EXACT);
    expect_right(variant.name, variant, {70, 300, 45}, inexact, {}, Data::UNIFORM);
    expect_right(variant.name, variant, {9, 30, 0}, EXACT[2], {}, Data::EXACT);
    if (variant.name.find("05e") != 0)
      expect_right(variant.name, variant, {70, 140, 45}, BIASED, {}, Data::EXACT);
  }
}

// To the last bits, which a GPU's tanh.approx does not have; of a product of zeros.
TEST_F(LinearLayer, ActivationsInFp32AreNoApproximations) {
  constexpr int N = 512;
  std::vector<float> numbers(N);
  for (int i = 0; i < N; ++i) numbers[static_cast<size_t>(i)] = (i - N / 2) / 32.0f;
  DeviceBuffer<float> from(N), to(N);
  from.upload(numbers);
  for (const Activation activation : {Activation::GELU, Activation::GELU_ERF, Activation::SILU}) {
    Gemm<float, float> p{};
    p.M = 1, p.N = N, p.lda = p.ldb = p.ldc = N, p.C = to.get();
    p.epilogue.beta = 1, p.epilogue.addend = from.get(), p.epilogue.ld_addend = N;
    p.epilogue.activation = activation;
    library::launch_split_k_and_finish(p);
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<float> got(N);
    to.download(got);
    for (size_t i = 0; i < N; ++i)
      EXPECT_NEAR(activate(activation, numbers[i]), got[i], 1e-6)
          << static_cast<int>(activation) << " of " << numbers[i];
  }
}

// Of a bias alone, behind a product of zeros.
TEST_F(LinearLayer, ReluInFp32KeepsWhatIsNoNumber) {
  constexpr float INF = std::numeric_limits<float>::infinity(),
                  NONE = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> numbers = {-INF, -1, 0, 1, INF, NONE};
  const std::pair<Activation, std::vector<float>> table[] = {
      {Activation::NONE, numbers}, {Activation::RELU, {0, 0, 0, 1, INF, NONE}}};
  DeviceBuffer<float> from(numbers.size()), to(8);
  from.upload(numbers);
  for (const auto& [activation, expected] : table) {
    Gemm<float, float> p{};
    p.M = 1, p.N = 6, p.lda = p.ldb = p.ldc = 8, p.C = to.get();
    p.epilogue.bias = from.get(), p.epilogue.activation = activation;
    library::launch_split_k_and_finish(p);
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<float> got(8);
    to.download(got);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(std::isnan(expected[i]) ? std::isnan(got[i]) : got[i] == expected[i])
          << static_cast<int>(activation) << " of " << numbers[i] << ": " << got[i];
  }
}

// C is the addend, and the residual; not of 05c, which divides K here.
TEST_F(LinearLayer, InPlaceInFp32) {
  const Problem<float, float> problem({130, 203, 136}, Data::EXACT, 7, {}, Sums::FP32, EXACT[2]);
  const Output<float> reference = [&] {
    Problem<float, float> same = problem;
    same.epilogue.residual = same.epilogue.addend;
    return reference_output(same);
  }();
  for (const Variant<float, float>& variant : in_fp32()) {
    if (variant.workspace_bytes) continue;
    BufferSets<float, float> sets(problem, 1);
    const Variant<float, float> in_place("", [&](Gemm<float, float> p) {
      for (int m = 0; m < p.M; ++m)
        LADDER_CUDA_CHECK(cudaMemcpy(&p.C[m * p.ldc], &problem.epilogue.addend[m * p.ldc],
                                     p.N * sizeof(float), cudaMemcpyHostToDevice));
      p.epilogue.addend = p.epilogue.residual = p.C;
      p.epilogue.ld_addend = p.epilogue.ld_residual = p.ldc;
      variant.gemm(p);
    });
    const Verdict verdict =
        verify(sets.run_poisoned(in_place, nullptr), reference, problem.bound(&reference));
    EXPECT_TRUE(verdict.ok) << variant.name << ": " << verdict.message;
  }
}

}  // namespace
}  // namespace ladder::harness
