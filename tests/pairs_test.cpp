// The kernels of build/pairs on the CPU device, at small sizes: what they compute, and what it
// counts of them. docs/pairs.md quotes the counts.
#include "bench/probes/pairs.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "bench/probes/tensor_pairs.cuh"
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

TEST_F(Pairs, AColumnHasTheSameOutputsInBlocksOfAnySize) {
  constexpr int COLUMNS = 300;  // the last block is not full
  const auto product = [&](int i) {
    double sum = 0;
    for (int step = 0; step < STEPS; ++step)
      sum += double{in_[step * COLUMNS + i % COLUMNS]} * double{in_[step * OUTPUTS + i / COLUMNS]};
    return sum;
  };
  for (const int threads : {128, 512, 896}) {
    run(any_block_kernel, ladder::ceil_div(COLUMNS, threads), threads, in_, in4(), COLUMNS, out_);
    checked(OUTPUTS * COLUMNS, 1e-4, product);
  }
  run(blocks_kernel<4>, 2, 256, in_, in4(), COLUMNS, out_);
  checked(OUTPUTS * COLUMNS, 1e-4, product);
}

TEST_F(Pairs, AProductOfFragmentsIsThatOfItsMatrices) {
  constexpr int ACROSS = 2, STEPS_OF_K = 4, K = 16 * STEPS_OF_K, N = ACROSS * SUMS_N;
  half* halves = nullptr;  // A, then B
  constexpr int OF_A = SUMS_M * K, OF_B = N * K;
  LADDER_CUDA_CHECK(cudaMalloc(&halves, (OF_A + OF_B) * sizeof(half)));
  for (int i = 0; i < OF_A + OF_B; ++i) halves[i] = __float2half(in_[i]);
  const auto* const a = reinterpret_cast<const Fragment*>(halves);
  run(sums_kernel<SumsInFp32>, ACROSS, 256, a, a + OF_A / 8, ACROSS, STEPS_OF_K, out_);
  checked(SUMS_M * N, 1e-4, [&](int i) {
    double sum = 0;
    for (int k = 0; k < K; ++k)
      sum += double{__half2float(halves[place_in_a(i / N, k, STEPS_OF_K)])} *
             double{__half2float(halves[OF_A + place_in_b(i % N, k, STEPS_OF_K)])};
    return sum;
  });
  cudaFree(halves);
}

TEST_F(Pairs, EveryPlaceInFragmentsIsOneElements) {
  constexpr int ROWS = 32, STEPS_OF_K = 3;
  std::set<int> of_a, of_b;
  for (int row = 0; row < ROWS; ++row)
    for (int k = 0; k < 16 * STEPS_OF_K; ++k) {
      of_a.insert(place_in_a(row, k, STEPS_OF_K));
      of_b.insert(place_in_b(row, k, STEPS_OF_K));
    }
  EXPECT_EQ(of_a.size(), ROWS * 16 * STEPS_OF_K);
  EXPECT_EQ(*of_a.rbegin() + 1, ROWS * 16 * STEPS_OF_K);
  EXPECT_EQ(of_a, of_b);
}

// In fragments of 16x16, which are all that the CPU device has.
TEST_F(Pairs, EightColumnsInFragmentsOf16TakeAsManyFragmentsAs16) {
  const auto product = [&](int columns) {
    return [=](int i) {
      double sum = 0;
      for (int k = 0; k < WMMA_DEPTH; ++k)
        sum += double{__half2float(__float2half(in_[i / columns * WMMA_DEPTH + k]))} *
               double{__half2float(__float2half(in_[k * columns + i % columns]))};
      return WMMA_REPEATS * sum;
    };
  };
  const auto fragments = [](int columns) {  // of A and of B, of all warps
    return uint64_t{4 * WMMA_REPEATS * (WMMA_DEPTH / 16)} * (2 + columns / 16);
  };
  cpu_device::take_memory_lines();
  const auto loads_of_16_bytes = [&] {
    uint64_t requests = 0, wavefronts = 0;
    for (const cpu_device::MemoryLine& line : cpu_device::take_memory_lines())
      if (line.space == cpu_device::Space::SHARED && line.bytes == 16) {
        requests += line.requests;
        wavefronts += line.cost;
      }
    EXPECT_EQ(wavefronts, 4 * requests);  // no conflicts
    return requests;
  };
  run(wmma_kernel<half, 16, 64>, 1, 128, in_, in_, out_);
  EXPECT_EQ(loads_of_16_bytes(), fragments(64));
  checked(WMMA_ROWS * 64, 1e-2, product(64));
  run(wmma_kernel<half, 16, 8>, 1, 128, in_, in_, out_);
  EXPECT_EQ(loads_of_16_bytes(), fragments(16));
  checked(WMMA_ROWS * 8, 1e-2, product(8));
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
