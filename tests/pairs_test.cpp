// The kernels of build/pairs on the CPU device, at small sizes: what they compute, and what it
// counts of them. docs/pairs.md quotes the counts.
#include "bench/probes/pairs.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "cpu_device/findings.h"
#include "launch.cuh"

namespace pairs {
namespace {

constexpr int COUNT = 1 << 18;
constexpr float BIAS = 0.25f, FACTOR = 1.5f;

struct Counts {
  uint64_t requests = 0, sectors = 0, shared_requests = 0, wavefronts = 0;
};

class Pairs : public testing::Test {
 protected:
  void SetUp() override {
    cpu_device::settings() = {};
    cpu_device::settings().count = true;
    cpu_device::take_findings();
    cpu_device::take_memory_lines();
    LADDER_CUDA_CHECK(cudaMalloc(&in_, COUNT * sizeof(float)));
    LADDER_CUDA_CHECK(cudaMalloc(&out_, COUNT * sizeof(float)));
    LADDER_CUDA_CHECK(cudaMalloc(&next_, sizeof(int)));
    *next_ = 0;
    for (int i = 0; i < COUNT; ++i) {
      in_[i] = std::sin(1.7f * static_cast<float>(i));
      out_[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  void TearDown() override {
    cudaFree(in_);
    cudaFree(out_);
    cudaFree(next_);
  }

  const float4* in4() const { return reinterpret_cast<const float4*>(in_); }
  float4* out4() const { return reinterpret_cast<float4*>(out_); }
  double sum(int first, int count) const {
    double sum = 0;
    for (int i = first; i < first + count; ++i) sum += double{in_[i]};
    return sum;
  }
  template <class... Params>
  static void run(void (*kernel)(Params...), int blocks, int threads,
                  std::common_type_t<Params>... args) {
    ladder::launch(kernel, dim3(blocks), dim3(threads), 0, nullptr, args...);
  }
  // What was counted since the last call, where `count` results are right and nothing was found.
  Counts checked(int count, double tolerance, const std::function<double(int)>& expected) {
    for (int i = 0; i < count; ++i) {
      EXPECT_NEAR(out_[i], expected(i), tolerance) << i;
      out_[i] = std::numeric_limits<float>::quiet_NaN();
    }
    EXPECT_TRUE(cpu_device::take_findings().empty());
    Counts counts;
    for (const cpu_device::MemoryLine& line : cpu_device::take_memory_lines()) {
      const bool shared = line.space == cpu_device::Space::SHARED;
      (shared ? counts.shared_requests : counts.requests) += line.requests;
      (shared ? counts.wavefronts : counts.sectors) += line.cost;
    }
    return counts;
  }

  float *in_ = nullptr, *out_ = nullptr;
  int* next_ = nullptr;
};

TEST_F(Pairs, SumsAreTheSameWithOneAccumulatorAndWithFour) {
  const double weights = sum(0, WEIGHTS);
  const auto weighed = [&](int i) { return double{in_[i]} * weights; };
  run(weigh_kernel<1, 8>, 1, 128, in_, in4(), out_);
  checked(128, 1e-3, weighed);
  run(weigh_kernel<2, 8>, 1, 128, in_, in4(), out_);
  checked(128, 1e-3, weighed);
  run(weigh_kernel<4, 8>, 1, 128, in_, in4(), out_);
  checked(128, 1e-3, weighed);
}

TEST_F(Pairs, AChainInThreeKernelsMovesThreeTimesTheSectors) {
  const auto chain = [&](int i) {
    return std::fmax(double{in_[i]} + double{BIAS}, 0) * double{FACTOR};
  };
  run(bias_kernel, 8, 256, in4(), BIAS, out4());
  run(relu_kernel, 8, 256, out4());
  run(scale_kernel, 8, 256, FACTOR, out4());
  EXPECT_EQ(checked(8192, 1e-6, chain).sectors, 6144);
  run(fused_kernel, 8, 256, in4(), BIAS, FACTOR, out4());
  EXPECT_EQ(checked(8192, 1e-6, chain).sectors, 2048);
}

TEST_F(Pairs, AFloat4TakesAQuarterOfTheRequests) {
  const auto same = [&](int i) { return double{in_[i]}; };
  run(copy_kernel<float>, 32, 256, in_, out_);
  const Counts narrow = checked(8192, 0, same);
  run(copy_kernel<float4>, 8, 256, in4(), out4());
  const Counts wide = checked(8192, 0, same);
  EXPECT_EQ(narrow.requests, 512);
  EXPECT_EQ(wide.requests, 128);
  EXPECT_EQ(narrow.sectors, 2048);
  EXPECT_EQ(wide.sectors, 2048);
}

TEST_F(Pairs, LoopsOfOneLengthInAWarpCostSectors) {
  const auto doubled = [&](int i) {
    return double{in_[i]} * (2 - std::exp2(1 - (i % 32 == 0 ? MANY_STEPS : FEW_STEPS)));
  };
  run(lengths_kernel<false>, 4, 1024, in_, out_);
  EXPECT_EQ(checked(4096, 1e-6, doubled).sectors, 1024);
  run(lengths_kernel<true>, 4, 1024, in_, out_);
  EXPECT_EQ(checked(4096, 1e-6, doubled).sectors, 8192);
}

TEST_F(Pairs, GatheringSectorsIsAsGoodAsGatheringLines) {
  run(gather_kernel<1>, 64, 256, in_, COUNT, out_);
  const auto floats = [&](int i) { return double{in_[gathered<1>(i, COUNT)]}; };
  EXPECT_EQ(checked(16384, 0, floats).sectors, 16384 + 2048);
  run(gather_kernel<8>, 64, 256, in_, COUNT / 8, out_);
  const auto sectors = [&](int i) { return double{in_[gathered<8>(i, COUNT / 8)]}; };
  EXPECT_EQ(checked(16384, 0, sectors).sectors, 2048 + 2048);
  run(gather_kernel<32>, 64, 256, in_, COUNT / 32, out_);
  const auto lines = [&](int i) { return double{in_[gathered<32>(i, COUNT / 32)]}; };
  EXPECT_EQ(checked(16384, 0, lines).sectors, 2048 + 2048);
}

TEST_F(Pairs, ATreeOfHalvesHasFewerRequestsAndNoConflicts) {
  const auto of_block = [&](int i) { return sum(i * 1024, 1024); };
  run(tree_kernel<Tree::EVERY_SECOND>, 8, 256, in4(), out_);
  const Counts spread = checked(8, 1e-3, of_block);
  run(tree_kernel<Tree::PACKED_STRIDED>, 8, 256, in4(), out_);
  const Counts strided = checked(8, 1e-3, of_block);
  run(tree_kernel<Tree::HALVES>, 8, 256, in4(), out_);
  const Counts halves = checked(8, 1e-3, of_block);
  EXPECT_EQ(spread.shared_requests, 1200);
  EXPECT_EQ(spread.wavefronts, 1200);
  EXPECT_EQ(strided.shared_requests, 360);
  EXPECT_EQ(strided.wavefronts, 1200);
  EXPECT_EQ(halves.shared_requests, 360);
  EXPECT_EQ(halves.wavefronts, 360);
}

TEST_F(Pairs, TheRestComputeWhatTheyShould) {
  run(small_matrix_kernel<false>, 8, 256, in4(), in4(), 256, out4());
  checked(8192, 1e-6, [&](int i) { return double{in_[i]} * double{in_[i % 1024]}; });
  run(few_blocks_kernel, 16, 256, in4(), 4 * 4096, out_);
  checked(4096, 1e-5, [&](int i) {
    double of_thread = 0;
    for (int k = 0; k < 4; ++k) of_thread += sum(4 * (i + k * 4096), 4);
    return of_thread;
  });
  for (const bool uneven : {false, true}) {
    const auto twice = [&](int i) { return 2 * double{in_[i]}; };
    run(items_kernel<false>, 5, 256, in_, 32, uneven, next_, out_);
    checked(32 * 256, 1e-6, twice);
    *next_ = 0;
    run(items_kernel<true>, 5, 256, in_, 32, uneven, next_, out_);
    checked(32 * 256, 1e-6, twice);
  }
  run(ring_ptx_kernel, 3, 256, in4(), out_);
  checked(3 * 256, 1e-4, [&](int i) {
    double of_thread = 0;
    for (int k = 0; k < RING_STEPS; ++k)
      of_thread += sum(4 * (i / 256 * 256 * RING_STEPS + k * 256 + i % 256), 4);
    return of_thread;
  });
}

}  // namespace
}  // namespace pairs
