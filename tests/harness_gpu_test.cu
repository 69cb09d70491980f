// The harness end to end on a GPU, with variants that are right and variants that are not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpu_test.h"
#include "harness/best.h"
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

// Takes `ns` nanoseconds, at any clock.
__global__ void spin_kernel(uint64_t ns) {
  const auto now = [] {
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
  };
  const uint64_t start = now();
  while (now() - start < ns) {
  }
}
auto spin(double ms) {
  return [=](auto) {
    launch(spin_kernel, dim3(1), dim3(1), 0, nullptr, static_cast<uint64_t>(1e6 * ms));
  };
}

// Full-entropy data of a size for which the host would take seconds: uniform in [-1, 1).
__global__ void random_kernel(half* first, size_t count, uint64_t seed) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x) {
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u + seed;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    first[i] = __float2half(static_cast<float>(x >> 40) * 0x1p-23f - 1.0f);
  }
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A right result by way of cuBLAS, in which `count` elements from `offset` on are then overwritten.
auto cublas_but(int64_t offset, int count, float value) {
  return [=](const Gemm<float, float>& p) {
    static Cublas cublas;
    cublas.gemm(p);
    launch(fill_kernel, dim3(1), dim3(256), 0, p.stream, p.C + offset, count, value);
  };
}

class HarnessGpu : public GpuTest<50, false> {
 protected:
  void TearDown() override { std::filesystem::remove(json_path); }

  // Runs a stage; out and err are what it printed.
  template <class T>
  int run_variants(const std::vector<Variant<T, T>>& variants, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "stage");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    const bool tensor_cores = sizeof(T) == 2;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run<T, T>({"00_test", 50, false, false, tensor_cores}, variants,
                               static_cast<int>(argv.size()), argv.data());
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return code;
  }
  int run_variant(const std::function<void(const Gemm<float, float>&)>& gemm,
                  const std::vector<std::string>& arguments) {
    return run_variants<float>({{"subject", gemm}}, arguments);
  }
  nlohmann::json read_json() const {
    std::ifstream file(json_path);
    return nlohmann::json::parse(file);
  }

  std::string out, err;
  const std::string json_path =
      testing::TempDir() + "harness_gpu_test_" + std::to_string(getpid()) + ".json";
};

template <class In, class Out>
void expect_cublas_right(Rounds rounds = Rounds::ONCE) {
  Cublas cublas;
  struct Case {
    Shape shape;
    Padding padding;
  };
  const Padding wide{8, 16, 24};  // the last shape is one where cuBLAS splits K
  for (const auto& [shape, padding] : {Case{{67, 131, 45}, wide}, Case{{256, 128, 512}, wide},
                                       Case{{1, 1, 1}, wide}, Case{{100, 100, 2500}, {}}})
    for (const Data data : {Data::EXACT, Data::UNIFORM})
      for (const Layout layout : LAYOUTS) {
        // Of integers it may have no more than what tensor cores read.
        if (std::is_integral_v<In> && layout != USUAL_LAYOUT<In>) continue;
        const Problem<In, Out> problem(shape, data, 3, padding, Sums::FP32, {}, layout);
        BufferSets<In, Out> sets(problem, 1);
        if constexpr (std::is_integral_v<In>) {
          const Gemm<In, Out> p = sets.gemm(0, nullptr);
          const bool has = cublas.has(p, p.C, p.ldc);
          EXPECT_TRUE(has || shape.n % 4 != 0 || shape.k % 4 != 0);
          if (!has) continue;
        }
        const Output<Out> output =
            sets.run_poisoned([&](const Gemm<In, Out>& p) { cublas.gemm(p); }, nullptr);
        const Output<Out> reference = reference_output(problem);
        const Verdict verdict = verify(output, reference, problem.bound(nullptr, rounds));
        EXPECT_TRUE(verdict.ok) << Number<In>::NAME << " " << name(layout) << ": "
                                << verdict.message;
      }
}
TEST_F(HarnessGpu, CublasAgreesWithDouble) {
  expect_cublas_right<float, float>();
  expect_cublas_right<half, half>();
  expect_cublas_right<bf16, bf16>();
  expect_cublas_right<tf32, float>(Rounds::CUT_TO_TF32);
  expect_cublas_right<int8_t, int32_t>();
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
  const auto timings =
      time_interleaved({[&](int set) { ++stage_sets.at(static_cast<size_t>(set)); },
                        [&](int set) { ++cublas_sets.at(static_cast<size_t>(set)); }},
                       {3, 1, 12}, nullptr);
  ASSERT_EQ(2u, timings.size());
  EXPECT_EQ(12, timings[0].samples);
  EXPECT_EQ(12, timings[1].samples);
  for (const int n : stage_sets) EXPECT_GE(n, 3);
  for (const int n : cublas_sets) EXPECT_GE(n, 3);
}

// Each contender comes first as often as last, in a burst and where each launch has its own rest.
TEST_F(HarnessGpu, OrderAlternates) {
  for (const double ms : {0.0, 6.0}) {
    std::vector<size_t> launched;
    const auto contender = [&](size_t number) -> LaunchOn {
      return [&launched, number, ms](int) {
        launched.push_back(number);
        if (ms > 0) spin(ms)(0);
      };
    };
    time_interleaved({contender(0), contender(1)}, {1, 1, 4}, nullptr);
    ASSERT_GE(launched.size(), 8u);
    EXPECT_EQ((std::vector<size_t>{0, 1, 1, 0, 0, 1, 1, 0}),
              std::vector<size_t>(launched.end() - 8, launched.end()));
  }
}

TEST_F(HarnessGpu, TimesAreThoseOfEachContender) {
  const std::vector<LaunchOn> contenders{spin(2), spin(1), spin(0.5)};
  const std::vector<Timing> usual = time_interleaved(contenders, {1, 1, 10}, nullptr);
  const std::vector<double> steady = time_sustained(contenders, 1, usual, nullptr);
  const std::vector<double> expected{2, 1, 0.5};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(1, usual[i].median / expected[i], 0.03) << i;
    EXPECT_NEAR(1, steady[i] / expected[i], 0.03) << i;
  }
}

TEST_F(HarnessGpu, ALaunchLongerThanABurstHasItsOwnRest) {
  std::vector<Timing> times;
  const double seconds = seconds_of([&] {
    times = time_interleaved({spin(12), spin(6)}, {1, 1, 5}, nullptr);
  });
  EXPECT_NEAR(12, times[0].median, 0.1);
  EXPECT_NEAR(6, times[1].median, 0.1);
  // 0.1 s of warm-up and ten launches, 0.09 s; ten rests of 0.01 s.
  EXPECT_GT(seconds, 0.28);
}

// The same through a whole run, whose columns must not be swapped.
TEST_F(HarnessGpu, TimesAreInTheirPlacesOfTheReport) {
  const auto variant = [](const Gemm<float, float>& p) {
    launch(spin_kernel, dim3(1), dim3(1), 0, p.stream, uint64_t{2000000});
  };
  ASSERT_EQ(EXIT_OK,
            run_variant(variant, {"--size", "64", "--no-check", "--sustained", "--iterations", "10",
                                  "--reference", "best", "--json", json_path}))
      << err;
  const nlohmann::json report = read_json();
  const nlohmann::json& stage = report["variants"][0];
  const double time = stage["time_ms"]["median"], cublas = report["cublas"]["time_ms"]["median"],
               best = report["best_cublaslt"]["time_ms"]["median"];
  EXPECT_NEAR(2, time, 0.06);
  EXPECT_LT(cublas, 0.2);
  EXPECT_LT(best, 0.2);
  EXPECT_NEAR(100 * cublas / time, stage["percent_of_cublas"], 0.01);
  EXPECT_NEAR(100 * std::min(best, cublas) / time, stage["percent_of_best"], 0.01);
  EXPECT_NEAR(1, stage["sustained"]["tflops"].get<double>() / tflops({64, 64, 64}, 2), 0.03);
  EXPECT_LT(stage["sustained"]["percent_of_cublas"], 10);
  EXPECT_LT(stage["sustained"]["percent_of_best"], 10);
  if (stage["power"].contains("unavailable")) return;
  // One thread draws less than a matrix product does, and nothing limits it.
  const nlohmann::json& power = stage["power"]["stage"]["sustained"];
  EXPECT_GE(power["samples"], 20);
  EXPECT_GT(power["watts"], 10);
  EXPECT_LT(power["watts"], 0.7 * stage["power"]["limit_watts"].get<double>());
  EXPECT_GT(power["sm_mhz"], 500);
  EXPECT_EQ(0, power["power_cap"]);
  EXPECT_NEAR(1, power["tflops"].get<double>() / tflops({64, 64, 64}, 2), 0.03);
}

// cuBLAS against itself: a ratio of 1, if the two are timed alike.
TEST_F(HarnessGpu, TimingIsFair) {
  Cublas cublas;
  const Problem<float, float> problem({1024, 1024, 1024}, Data::UNIFORM, 3);
  BufferSets<float, float> sets(problem, 4);
  const LaunchOn launch = [&](int set) { cublas.gemm(sets.gemm(set, nullptr)); };
  const std::vector<Timing> t = time_interleaved({launch, launch}, {4, 3, {}}, nullptr);
  EXPECT_NEAR(1.0, t[0].median / t[1].median, 0.02);
  EXPECT_GT(t[0].median, 0);
  EXPECT_LE(t[0].p10, t[0].median);
  EXPECT_LE(t[0].median, t[0].p90);
}

// On tensor cores, which reach the power limit.
TEST_F(HarnessGpu, TimingIsFairAtThePowerLimit) {
  Cublas cublas;
  const Problem<half, half> problem({4096, 4096, 4096}, Data::UNIFORM, 3);
  BufferSets<half, half> sets(problem, 2);
  const LaunchOn launch = [&](int set) { cublas.gemm(sets.gemm(set, nullptr)); };
  const std::vector<LaunchOn> both{launch, launch};
  const std::vector<Timing> usual = time_interleaved(both, {2, 3, {}}, nullptr);
  const std::vector<double> steady = time_sustained(both, 2, usual, nullptr);
  EXPECT_NEAR(1.0, steady[0] / steady[1], 0.02);
  EXPECT_NEAR(1.0, steady[0] / usual[0].median, 0.3);
}

// Where a burst is a few launches and where a launch is as long as a burst, the order within it
// would be worth 2 to 3%.
TEST_F(HarnessGpu, TimingIsFairWhereLaunchesAreLong) {
  Cublas cublas;
  for (const int size : {8192, 16384}) {
    const size_t elements = static_cast<size_t>(size) * static_cast<size_t>(size);
    size_t available = 0, total = 0;
    LADDER_CUDA_CHECK(cudaMemGetInfo(&available, &total));
    if (3 * elements * sizeof(half) > available) GTEST_SKIP() << "too little memory: " << size;
    const DeviceBuffer<half> a(elements), b(elements), c(elements);
    launch(random_kernel, dim3(1024), dim3(256), 0, nullptr, a.get(), elements, uint64_t{1});
    launch(random_kernel, dim3(1024), dim3(256), 0, nullptr, b.get(), elements, uint64_t{2} << 60);
    const Gemm<half, half> p{size, size, size, a.get(), size, b.get(), size, c.get(), size};
    const LaunchOn launch = [&](int) { cublas.gemm(p); };
    const std::vector<Timing> t = time_interleaved({launch, launch}, {1, 1, {}}, nullptr);
    const double percent = 100 * t[1].median / t[0].median;
    std::cout << size << ": " << t[0].median << " and " << t[1].median << " ms, " << percent
              << "%, " << t[0].samples << " samples\n";
    EXPECT_GE(percent, 99.5) << size;
    EXPECT_LE(percent, 100.5) << size;
  }
}

// Even with the steady state, in which launches as short as these show the host.
TEST_F(HarnessGpu, ASmallProblemEndsInASecond) {
  const auto cublas = [](const Gemm<half, half>& p) {
    static Cublas handle;
    handle.gemm(p);
  };
  const auto small = [&] {
    ASSERT_EQ(EXIT_OK,
              run_variants<half>({{"subject", cublas}}, {"--m", "14", "--n", "17", "--k", "2"}))
        << out << err;
  };
  small();  // loads what is needed
  const double seconds = seconds_of(small);
  std::cout << seconds << " s\n";
  EXPECT_LT(seconds, 1);
}

TEST_F(HarnessGpu, TheBestOfCublasLtIsNoSlowerThanItsOwnChoice) {
  const auto cublas = [](const Gemm<half, half>& p) {
    static Cublas handle;
    handle.gemm(p);
  };
  ASSERT_EQ(EXIT_OK,
            run_variants<half>({{"subject", cublas}}, {"--m", "2048", "--n", "4096", "--k", "1024",
                                                       "--reference", "best", "--json", json_path}))
      << out << err;
  std::cout << out;
  const nlohmann::json report = read_json();
  EXPECT_GT(report["best_cublaslt"]["algorithms"], 1);
  EXPECT_NE("", report["best_cublaslt"]["algorithm"]);
  const double best = report["best_cublaslt"]["tflops"], own = report["cublas"]["tflops"];
  EXPECT_GT(best, 0.97 * own);
  EXPECT_NEAR(100, report["variants"][0]["percent_of_cublas"].get<double>(), 3);
  // Without the option, and where the stage does not ask for it, nothing is looked for.
  ASSERT_EQ(EXIT_OK,
            run_variants<half>({{"subject", cublas}}, {"--size", "64", "--json", json_path}));
  EXPECT_FALSE(read_json().contains("best_cublaslt"));
}

// cublasLt's own epilogues are those that are asked for: they pass the check of the others, and a
// bias that is not added does not.
TEST_F(HarnessGpu, CublasLtHasBiasReluGeluAlphaAndBeta) {
  for (const EpilogueChoice& choice :
       {EpilogueChoice{0.25f, 0, true, false, Scale::NONE, Activation::GELU},
        EpilogueChoice{2, -3, true, false, Scale::NONE, Activation::RELU},
        EpilogueChoice{0.5f, 1, false, false, Scale::NONE, Activation::NONE}}) {
    const Problem<half, half> problem({256, 384, 512}, Data::UNIFORM, 3, {}, Sums::FP32, choice);
    BufferSets<half, half> sets(problem, 2, {any_of_cublaslt<half, half>()});
    const Output<half> reference = reference_output(problem);
    const Best<half, half> best = find_best(sets, &reference, problem.bound(&reference), nullptr);
    ASSERT_TRUE(best.variant) << choice.formula();
    EXPECT_TRUE(best.facts.left_out.empty()) << choice.formula() << ": " << best.facts.left_out[0];
    const Problem<half, half> other({256, 384, 512}, Data::UNIFORM, 3);
    BufferSets<half, half> without(other, 2, {any_of_cublaslt<half, half>()});
    EXPECT_FALSE(
        verify(without.run_poisoned(*best.variant, nullptr), reference, problem.bound(&reference))
            .ok);
  }
  const Problem<half, half> silu({64, 64, 64}, Data::UNIFORM, 3, {}, Sums::FP32,
                                 {1, 0, false, false, Scale::NONE, Activation::SILU});
  BufferSets<half, half> sets(silu, 2, {any_of_cublaslt<half, half>()});
  const Output<half> reference = reference_output(silu);
  const Best<half, half> none = find_best(sets, &reference, silu.bound(&reference), nullptr);
  EXPECT_FALSE(none.variant);
  EXPECT_EQ("all: cublasLt has no such epilogue", none.facts.left_out.at(0));
}

// Algorithms whose result is not that of the reference are left out and named; none wins.
TEST_F(HarnessGpu, AlgorithmsThatAreWrongAreLeftOut) {
  Cublas cublas;
  const Problem<half, half> problem({256, 256, 256}, Data::UNIFORM, 3);
  BufferSets<half, half> sets(problem, 2, {any_of_cublaslt<half, half>()});
  Output<half> reference =
      sets.run_poisoned([&](const Gemm<half, half>& p) { cublas.gemm(p); }, nullptr);
  const Best<half, half> right = find_best(sets, &reference, problem.bound(), nullptr);
  EXPECT_TRUE(right.variant);
  const Output<half> output = sets.run_poisoned(*right.variant, nullptr);
  EXPECT_TRUE(verify(output, reference, problem.bound()).ok);

  reference.row(200)[100] = __float2half(1000);
  const Best<half, half> wrong = find_best(sets, &reference, problem.bound(), nullptr);
  EXPECT_FALSE(wrong.variant);
  ASSERT_FALSE(wrong.facts.left_out.empty());
  EXPECT_NE(wrong.facts.left_out.back().find("row 200, column 100"), std::string::npos)
      << wrong.facts.left_out.back();
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

TEST_F(HarnessGpu, OneWrongElementFailsAProof) {
  EXPECT_EQ(EXIT_OK, run_variant(cublas_but(0, 0, 0), {"--size", "64", "--prove"})) << out << err;
  EXPECT_NE(out.find("7 runs, each with new data"), std::string::npos) << out;
  EXPECT_EQ(EXIT_FAILED,
            run_variant(cublas_but(64 * 64 - 1, 1, 0.5f), {"--size", "64", "--prove"}));
  EXPECT_NE(out.find("seed 1: row 63, column 63: got 0.5"), std::string::npos) << out;
}

TEST_F(HarnessGpu, AWriteOutsideCFailsTheRun) {
  EXPECT_EQ(EXIT_FAILED, run_variant(cublas_but(64 * 64, 1, 0), {"--size", "64"}));
  EXPECT_NE(out.find("wrote past the end of C, to the place of row 64, column 0"),
            std::string::npos)
      << out << err;
  EXPECT_EQ(EXIT_FAILED, run_variant(cublas_but(-2, 1, 0), {"--size", "64"}));
  EXPECT_NE(out.find("wrote before C, to the place of element -2"), std::string::npos)
      << out << err;
}

TEST_F(HarnessGpu, AVariantThatWritesNothingDoesNotInheritTheResultBefore) {
  EXPECT_EQ(EXIT_FAILED, run_variants<float>({{"right", cublas_but(0, 0, 0)},
                                              {"nothing",
                                               [](const auto& p) {
                                                 launch(spin_kernel, dim3(1), dim3(1), 0, p.stream,
                                                        uint64_t{0});
                                               }}},
                                             {"--size", "64"}));
  EXPECT_NE(out.find("right    ok"), std::string::npos) << out << err;
  EXPECT_NE(out.find("WRONG nothing: "), std::string::npos) << out;
  EXPECT_NE(out.find("4096 of 4096 elements are wrong"), std::string::npos) << out;
}

TEST_F(HarnessGpu, AVariantHasItsWorkspaceAndNoMore) {
  const auto needing = [](int64_t stray) {
    return Variant<float, float>(
        "needing",
        [=](const Gemm<float, float>& p) {
          cublas_but(0, 0, 0)(p);
          EXPECT_EQ(1000u, p.workspace_bytes);
          launch(fill_kernel, dim3(1), dim3(256), 0, p.stream,
                 static_cast<float*>(p.workspace) + stray, 250, 1.0f);
        },
        [](const auto&) { return uint64_t{1000}; });
  };
  EXPECT_EQ(EXIT_OK, run_variants<float>({needing(0)}, {"--size", "64"})) << out << err;
  EXPECT_EQ(EXIT_FAILED, run_variants<float>({needing(2)}, {"--size", "64"}));
  EXPECT_NE(out.find("WRONG needing: wrote past the end of the workspace, to byte 1000 of 1000"),
            std::string::npos)
      << out << err;
  EXPECT_EQ(EXIT_FAILED, run_variants<float>({needing(-1)}, {"--size", "64"}));
  EXPECT_NE(out.find("wrote before the workspace, to byte -4"), std::string::npos) << out << err;
}

TEST_F(HarnessGpu, TheWorkspaceCountsBeforeAnythingIsAllocated) {
  const Variant<float, float> variant(
      "huge", [](const auto&) { FAIL(); }, [](const auto&) { return uint64_t{1} << 50; });
  EXPECT_EQ(EXIT_BAD_INPUT, run_variants<float>({variant}, {"--size", "64"}));
  EXPECT_NE(err.find("A, B, C and the workspace need 1125"), std::string::npos) << err;
}

TEST_F(HarnessGpu, SeedAndExactReachTheData) {
  const auto first_of_a = [&](const std::vector<std::string>& options) {
    float first = std::nanf("");
    const auto variant = [&](const Gemm<float, float>& p) {
      // Once: later calls are captured, where nothing may be copied.
      if (std::isnan(first))
        LADDER_CUDA_CHECK(cudaMemcpy(&first, p.A, sizeof first, cudaMemcpyDeviceToHost));
      cublas_but(0, 0, 0)(p);
    };
    std::vector<std::string> arguments{"--size", "64", "--iterations", "1"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    EXPECT_EQ(EXIT_OK, run_variant(variant, arguments)) << out << err;
    return first;
  };
  const std::vector<std::string> none, one{"--seed", "1"}, two{"--seed", "2"}, exact{"--exact"};
  const float usual = first_of_a(none);
  EXPECT_EQ(usual, first_of_a(one));
  EXPECT_NE(usual, first_of_a(two));
  EXPECT_NE(std::round(usual), usual);
  EXPECT_EQ(std::round(first_of_a(exact)), first_of_a(exact));
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
