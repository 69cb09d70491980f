// The harness end to end on a GPU, with variants that are right and variants that are not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/buffers.h"
#include "harness/cublas.h"
#include "harness/device.h"
#include "harness/harness.h"
#include "harness/options.h"
#include "harness/timer.h"

namespace ladder::harness {
namespace {

__global__ void fill_kernel(float* first, int count, float value) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) first[i] = value;
}

// A right result by way of cuBLAS, in which `count` elements from `offset` on are then overwritten.
auto cublas_but(int64_t offset, int count, float value) {
  return [=](const Gemm<float, float>& p) {
    static Cublas cublas;
    cublas.gemm(p);
    launch(fill_kernel, dim3(1), dim3(256), 0, p.stream, p.C + offset, count, value);
  };
}

class HarnessGpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device = select_device(0, 50, false);
    } catch (const NoDevice& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // Runs a stage of one variant; out and err are what it printed.
  int run_variant(const std::function<void(const Gemm<float, float>&)>& gemm,
                  std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "stage");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code =
        run<float, float>({"00_test", 50, false, false, false, false}, {{"subject", gemm}},
                          static_cast<int>(arguments.size()), const_cast<char**>(arguments.data()));
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return code;
  }

  Device device;
  std::string out, err;
};

template <class T>
void expect_cublas_right() {
  Cublas cublas;
  struct Case {
    Shape shape;
    Padding padding;
  };
  const Padding wide{8, 16, 24};  // the last shape is one where cuBLAS splits K
  for (const auto& [shape, padding] : {Case{{67, 131, 45}, wide}, Case{{256, 128, 512}, wide},
                                       Case{{1, 1, 1}, wide}, Case{{100, 100, 2500}, {}}})
    for (const Data data : {Data::EXACT, Data::UNIFORM}) {
      const Problem<T, T> problem(shape, data, 3, padding);
      BufferSets<T, T> sets(problem, 1);
      const Output<T> output =
          sets.run_poisoned([&](const Gemm<T, T>& p) { cublas.gemm(p); }, nullptr);
      const Verdict verdict = verify(output, reference_output(problem), problem.bound());
      EXPECT_TRUE(verdict.ok) << verdict.message;
    }
}
TEST_F(HarnessGpu, CublasAgreesWithDouble) {
  expect_cublas_right<float>();
  expect_cublas_right<half>();
}

TEST_F(HarnessGpu, DeviceIsDescribed) {
  EXPECT_FALSE(device.name.empty());
  EXPECT_GT(device.multiprocessors, 0);
  EXPECT_GT(device.clock_mhz, 100);
  EXPECT_GT(device.memory_gb_s, 10);
  EXPECT_THROW(select_device(1000, 50, false), UsageError);
  EXPECT_THROW(select_device(0, 999, false), NoDevice);
  EXPECT_THROW(select_device(0, 50, true), NoDevice);
}

TEST_F(HarnessGpu, RotationCoversEverySet) {
  std::vector<int> stage_sets(3), cublas_sets(3);
  const auto timing = time_interleaved([&](int set) { ++stage_sets.at(static_cast<size_t>(set)); },
                                       [&](int set) { ++cublas_sets.at(static_cast<size_t>(set)); },
                                       {3, 1, 12}, nullptr);
  EXPECT_EQ(12, timing.stage.samples);
  EXPECT_EQ(12, timing.cublas.samples);
  for (const int n : stage_sets) EXPECT_GE(n, 3);
  for (const int n : cublas_sets) EXPECT_GE(n, 3);
}

// cuBLAS against itself: a ratio of 1, if the two are timed alike.
TEST_F(HarnessGpu, TimingIsFair) {
  Cublas cublas;
  const Problem<float, float> problem({1024, 1024, 1024}, Data::UNIFORM, 3);
  BufferSets<float, float> sets(problem, 4);
  const LaunchOn launch = [&](int set) { cublas.gemm(sets.gemm(set, nullptr)); };
  const Interleaved t = time_interleaved(launch, launch, {4, 3, {}}, nullptr);
  EXPECT_NEAR(1.0, t.stage.median / t.cublas.median, 0.02);
  EXPECT_GT(t.stage.median, 0);
  EXPECT_LE(t.stage.p10, t.stage.median);
  EXPECT_LE(t.stage.median, t.stage.p90);
}

// On tensor cores, which reach the power limit.
TEST_F(HarnessGpu, TimingIsFairAtThePowerLimit) {
  Cublas cublas;
  const Problem<half, half> problem({4096, 4096, 4096}, Data::UNIFORM, 3);
  BufferSets<half, half> sets(problem, 2);
  const LaunchOn launch = [&](int set) { cublas.gemm(sets.gemm(set, nullptr)); };
  const Interleaved usual = time_interleaved(launch, launch, {2, 3, {}}, nullptr);
  const SteadyState steady = time_sustained(launch, launch, 2, usual, nullptr);
  EXPECT_NEAR(1.0, steady.stage / steady.cublas, 0.02);
  EXPECT_NEAR(1.0, steady.stage / usual.stage.median, 0.3);
}

TEST_F(HarnessGpu, RefusesWhatDoesNotFitBeforeAllocating) {
  EXPECT_EQ(EXIT_BAD_INPUT, run_variant([](const auto&) { FAIL(); }, {"--size", "1000000"}));
  EXPECT_NE(err.find("need 12000000032768 bytes of device memory"), std::string::npos) << err;
  EXPECT_EQ(EXIT_BAD_INPUT, run_variant([](const auto&) { FAIL(); }, {"--size", "2147482623"}));
  EXPECT_NE(err.find("bytes of device memory"), std::string::npos) << err;
}

TEST_F(HarnessGpu, AnUnknownDeviceIsBadInput) {
  EXPECT_EQ(EXIT_BAD_INPUT, run_variant([](const auto&) { FAIL(); }, {"--device", "1000"}));
  EXPECT_NE(err.find("--device: there is no device 1000"), std::string::npos) << err;
}

TEST_F(HarnessGpu, RightResultsPass) {
  EXPECT_EQ(EXIT_OK, run_variant(cublas_but(0, 0, 0), {"--size", "64"})) << out << err;
  EXPECT_NE(out.find("subject  ok"), std::string::npos) << out;
}

TEST_F(HarnessGpu, OneWrongElementFailsTheRun) {
  EXPECT_EQ(EXIT_FAILED, run_variant(cublas_but(5 * 64 + 7, 1, 99), {"--size", "64"}));
  EXPECT_NE(out.find("row 5, column 7: got 99, expected"), std::string::npos) << out << err;
  EXPECT_NE(out.find("1 of 4096 elements are wrong"), std::string::npos) << out;
}

TEST_F(HarnessGpu, NothingButNaNFailsTheRun) {
  EXPECT_EQ(EXIT_FAILED,
            run_variant(cublas_but(0, 64 * 64, std::nanf("")), {"--size", "64", "--exact"}));
  EXPECT_NE(out.find("4096 of 4096 elements are wrong"), std::string::npos) << out << err;
}

TEST_F(HarnessGpu, AWriteOutsideCFailsTheRun) {
  EXPECT_EQ(EXIT_FAILED, run_variant(cublas_but(64 * 64, 1, 0), {"--size", "64"}));
  EXPECT_NE(out.find("wrote 1 elements past the end of C"), std::string::npos) << out << err;
  EXPECT_EQ(EXIT_FAILED, run_variant(cublas_but(-2, 1, 0), {"--size", "64"}));
  EXPECT_NE(out.find("wrote 2 elements before C"), std::string::npos) << out << err;
}

TEST_F(HarnessGpu, ARefusingLauncherIsBadInputAndACudaErrorIsAFailure) {
  EXPECT_EQ(EXIT_BAD_INPUT,
            run_variant([](const auto&) { throw std::invalid_argument("M is too odd"); }, {}));
  EXPECT_NE(err.find("00_test: M is too odd"), std::string::npos) << err;
  EXPECT_EQ(EXIT_FAILED, run_variant([](const auto&) { throw CudaError("it broke"); }, {}));
  EXPECT_NE(err.find("00_test: it broke"), std::string::npos) << err;
}

TEST_F(HarnessGpu, MoreSharedMemoryThanTheDeviceHasIsRefusedWithBothNumbers) {
  try {
    launch(fill_kernel, dim3(1), dim3(1), 1 << 20, nullptr, nullptr, 0, 0.0f);
    ADD_FAILURE() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("1048576 bytes of shared memory a block; the device"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace ladder::harness
