// build/pairs: techniques that no stage and no exercise shows alone, each as a slow kernel and a
// faster one, or as one that ought to be faster. docs/pairs.md has the reasons.
//
// Matrices of 8192 x 8192 floats, as in around_gemm. Every kernel's result is compared once with
// the host's; then the variants of a pair are launched in turn, in bursts with rests between them.
// Exit codes: 0 all right; 1 a wrong result or a CUDA error; 2 bad input; 77 no usable GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../kernels/launch.cuh"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/program.h"
#include "harness/random.h"
#include "harness/report.h"
#include "harness/timer.h"
#include "pairs.cuh"

namespace {

using namespace ladder;
using namespace ladder::harness;
using namespace pairs;

constexpr int COUNT = 8192 * 8192, QUADS = COUNT / 4, ROUNDS = 30;
constexpr int FIRST_SMALL = 1 << 20, LARGE_SMALL = 6 << 20;  // floats: 4 MB and 25 MB
constexpr int ITEMS = 4096, STREAMS = 8;
constexpr float BIAS = 0.25f, FACTOR = 1.5f;

struct Variant {
  std::string name;
  std::function<void()> launch;
  Timing timing{};
};

struct Pair {
  std::string name;
  double bytes;  // that have to be moved; 0: bytes are not the limit
  int results;   // floats of out
  int step;      // every so many are looked at
  double tolerance;
  std::function<double(int)> expected;
  std::vector<Variant> variants;
  size_t kept_in_l2 = 0;  // bytes set aside for the window
};

struct Stream {
  cudaStream_t stream{};
  Stream() { LADDER_CUDA_CHECK(cudaStreamCreate(&stream)); }  // waits for the default stream
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

struct Data {
  std::vector<float> host = std::vector<float>(COUNT);
  DeviceBuffer<float> in{COUNT}, out{COUNT};
  DeviceBuffer<int> next{1};
  std::array<Stream, STREAMS> streams;
  Data() {
    for (size_t i = 0; i < COUNT; ++i) host[i] = random_uniform(1, harness::Stream::A, i);
    in.upload(host);
  }
  double value(int i) const { return host[static_cast<size_t>(i)]; }
  double sum(int first, int count, int stride) const {
    double sum = 0;
    for (int k = 0; k < count; ++k) sum += value(first + k * stride);
    return sum;
  }
};

// With a window of L2 in which `small` stays.
void launch_with_window(const float4* in, const float4* small, int quads, float4* out) {
  cudaLaunchAttribute window{};
  window.id = cudaLaunchAttributeAccessPolicyWindow;
  window.val.accessPolicyWindow.base_ptr = const_cast<float4*>(small);
  window.val.accessPolicyWindow.num_bytes = sizeof(float4) * static_cast<size_t>(quads);
  window.val.accessPolicyWindow.hitRatio = 1;
  window.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.val.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(QUADS / 256);
  config.blockDim = dim3(256);
  config.attrs = &window;
  config.numAttrs = 1;
  LADDER_CUDA_CHECK(cudaLaunchKernelEx(&config, small_matrix_kernel<false>, in, small, quads, out));
}

std::vector<Pair> all_pairs(Data& data) {
  const float* const in = data.in.get();
  float* const out = data.out.get();
  const auto* const in4 = reinterpret_cast<const float4*>(in);
  auto* const out4 = reinterpret_cast<float4*>(out);
  const int sms = device_attribute(cudaDevAttrMultiProcessorCount);
  const double moved = 8.0 * COUNT;
  const auto run = [](auto kernel, int blocks, int threads, auto... arguments) {
    return [=] { launch(kernel, dim3(blocks), dim3(threads), 0, nullptr, arguments...); };
  };
  std::vector<Pair> all;

  const double weights = data.sum(0, WEIGHTS, 1);
  const auto weighed = [=, &data](int i) { return data.value(i) * weights; };
  // One warp for each scheduler: only the instructions of one thread can hide a wait.
  all.push_back({"accumulators",
                 0,
                 sms * 128,
                 1,
                 1e-3,
                 weighed,
                 {{"one_sum", run(weigh_kernel<1, 8>, sms, 128, in, in4, out)},
                  {"two_sums", run(weigh_kernel<2, 8>, sms, 128, in, in4, out)},
                  {"four_sums", run(weigh_kernel<4, 8>, sms, 128, in, in4, out)}}});
  // The other way to hide it: 16 warps for each scheduler, with 16 times the work.
  all.push_back({"accumulators_many_warps",
                 0,
                 sms * 2048,
                 1,
                 1e-3,
                 weighed,
                 {{"one_sum", run(weigh_kernel<1, 8>, sms * 2, 1024, in, in4, out)},
                  {"four_sums", run(weigh_kernel<4, 8>, sms * 2, 1024, in, in4, out)}}});
  all.push_back({"unrolling",
                 0,
                 sms * 128,
                 1,
                 1e-3,
                 weighed,
                 {{"not_unrolled", run(weigh_kernel<4, 1>, sms, 128, in, in4, out)},
                  {"by_8", run(weigh_kernel<4, 8>, sms, 128, in, in4, out)},
                  {"whole", run(weigh_kernel<4, WEIGHT_QUADS>, sms, 128, in, in4, out)}}});

  all.push_back({"chain",
                 moved,
                 COUNT,
                 8191,
                 1e-6,
                 [&](int i) { return std::fmax(data.value(i) + double{BIAS}, 0) * double{FACTOR}; },
                 {{"three_kernels",
                   [=] {
                     run(bias_kernel, QUADS / 256, 256, in4, BIAS, out4)();
                     run(relu_kernel, QUADS / 256, 256, out4)();
                     run(scale_kernel, QUADS / 256, 256, FACTOR, out4)();
                   }},
                  {"one_kernel", run(fused_kernel, QUADS / 256, 256, in4, BIAS, FACTOR, out4)}}});
  all.push_back({"copy",
                 moved,
                 COUNT,
                 8191,
                 0,
                 [&](int i) { return data.value(i); },
                 {{"float", run(copy_kernel<float>, COUNT / 256, 256, in, out)},
                  {"float4", run(copy_kernel<float4>, QUADS / 256, 256, in4, out4)}}});
  all.push_back({"loop_lengths",
                 0,
                 COUNT,
                 8191,
                 1e-6,
                 [&](int i) {
                   return data.value(i) *
                          (2 - std::exp2(1 - (i % 32 == 0 ? MANY_STEPS : FEW_STEPS)));
                 },
                 {{"mixed", run(lengths_kernel<false>, COUNT / 1024, 1024, in, out)},
                  {"alike", run(lengths_kernel<true>, COUNT / 1024, 1024, in, out)}}});

  const auto gathers = [&](const std::string& name, auto width) {
    constexpr int WIDTH = decltype(width)::value, ROWS = COUNT / WIDTH;
    all.push_back({"gather_" + name,
                   moved,
                   COUNT,
                   8191,
                   0,
                   [&](int i) { return data.value(gathered<WIDTH>(i, ROWS)); },
                   {{"gather", run(gather_kernel<WIDTH>, COUNT / 256, 256, in, ROWS, out)}}});
  };
  gathers("floats", std::integral_constant<int, 1>());
  gathers("sectors", std::integral_constant<int, 8>());
  gathers("lines", std::integral_constant<int, 32>());

  all.push_back(
      {"tree",
       4.0 * COUNT,
       COUNT / 1024,
       7,
       1e-4,
       [&](int i) { return data.sum(i * 1024, 1024, 1); },
       {{"every_second", run(tree_kernel<Tree::EVERY_SECOND>, QUADS / 256, 256, in4, out)},
        {"packed_strided", run(tree_kernel<Tree::PACKED_STRIDED>, QUADS / 256, 256, in4, out)},
        {"halves", run(tree_kernel<Tree::HALVES>, QUADS / 256, 256, in4, out)}}});

  // The matrix is the beginning of `in` as well: 4 MB stay in L2 anyway, 25 MB are half of it.
  for (const int floats : {FIRST_SMALL, LARGE_SMALL}) {
    const std::string size = floats == FIRST_SMALL ? "4_mb" : "25_mb";
    const auto product = [=, &data](int i) { return data.value(i) * data.value(i % floats); };
    const int quads = floats / 4;
    const auto launch_plain =
        run(small_matrix_kernel<false>, QUADS / 256, 256, in4, in4, quads, out4);
    all.push_back(
        {"small_matrix_" + size,
         moved,
         COUNT,
         8191,
         1e-6,
         product,
         {{"plain", launch_plain},
          {"streamed", run(small_matrix_kernel<true>, QUADS / 256, 256, in4, in4, quads, out4)}}});
    all.push_back(
        {"small_matrix_window_" + size,
         moved,
         COUNT,
         8191,
         1e-6,
         product,
         {{"plain", launch_plain}, {"window", [=] { launch_with_window(in4, in4, quads, out4); }}},
         4 * static_cast<size_t>(floats)});
  }

  constexpr int PART = QUADS / STREAMS;
  const auto parts = [=, &data](bool side_by_side) {
    return [=, &data] {
      for (size_t s = 0; s < STREAMS; ++s)
        launch(few_blocks_kernel, dim3(16), dim3(256), 0,
               side_by_side ? data.streams[s].stream : nullptr, in4 + s * PART, PART,
               out + s * 16 * 256);
    };
  };
  all.push_back({"streams",
                 4.0 * COUNT,
                 STREAMS * 16 * 256,
                 31,
                 1e-3,
                 [&](int i) {
                   double sum = 0;
                   const int first = i / 4096 * PART + i % 4096;
                   for (int k = 0; k < PART / 4096; ++k)
                     sum += data.sum(4 * (first + k * 4096), 4, 1);
                   return sum;
                 },
                 {{"in_turn", parts(false)}, {"side_by_side", parts(true)}}});

  int* const next = data.next.get();
  for (const bool uneven : {true, false}) {
    all.push_back(
        {uneven ? "uneven_items" : "even_items",
         0,
         ITEMS * 256,
         511,
         1e-6,
         [&](int i) { return 2 * data.value(i); },
         {{"in_strides", run(items_kernel<false>, sms * 2, 256, in, ITEMS, uneven, next, out)},
          {"queue", [=, &data] {
             data.next.fill(0, nullptr);
             run(items_kernel<true>, sms * 2, 256, in, ITEMS, uneven, next, out)();
           }}}});
  }

  constexpr int RINGS = QUADS / RING_STEPS;
  all.push_back({"ring",
                 4.0 * COUNT,
                 RINGS,
                 31,
                 1e-4,
                 [&](int i) {
                   double sum = 0;
                   for (int k = 0; k < RING_STEPS; ++k)
                     sum += data.sum(4 * (i / 256 * 256 * RING_STEPS + k * 256 + i % 256), 4, 1);
                   return sum;
                 },
                 {{"ptx", run(ring_ptx_kernel, RINGS / 256, 256, in4, out)},
                  {"library", run(ring_library_kernel, RINGS / 256, 256, in4, out)}}});
  return all;
}

void check(const Pair& pair, Data& data) {
  for (const Variant& variant : pair.variants) {
    data.out.fill(0xFF, nullptr);
    variant.launch();
    std::vector<float> got(static_cast<size_t>(pair.results));
    LADDER_CUDA_CHECK(
        cudaMemcpy(got.data(), data.out.get(), got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < pair.results; i += pair.step) {
      const double value = pair.expected(i), of_gpu = got[static_cast<size_t>(i)];
      if (!(std::abs(of_gpu - value) <= pair.tolerance * (1 + std::abs(value))))
        throw std::runtime_error(fmt::format("{}/{}: element {} is {}, not {}", pair.name,
                                             variant.name, i, of_gpu, value));
    }
  }
}

void keep_in_l2(size_t bytes) {
  if (bytes == 0) LADDER_CUDA_CHECK(cudaCtxResetPersistingL2Cache());
  LADDER_CUDA_CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, bytes));
}

void time(Pair& pair) {
  std::vector<LaunchOn> launches;
  for (const Variant& variant : pair.variants)
    launches.push_back([&variant](int) { variant.launch(); });
  if (pair.kept_in_l2 > 0) keep_in_l2(pair.kept_in_l2);
  const std::vector<Timing> timings = time_interleaved(launches, {1, 3, ROUNDS}, nullptr);
  if (pair.kept_in_l2 > 0) keep_in_l2(0);
  for (size_t i = 0; i < timings.size(); ++i) pair.variants[i].timing = timings[i];
}

void run(const std::string& json) {
  const Device device = select_device(0, 90, false);
  Data data;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  fmt::print("{}: {} launches of each variant of a pair in turn\n", device.name, ROUNDS);
  fmt::print("{:<26} {:<16} {:>9} {:>9} {:>9} {:>7}\n", "pair", "variant", "ms", "p10", "p90",
             "GB/s");
  for (Pair& pair : all_pairs(data)) {
    check(pair, data);
    time(pair);
    for (const auto& [name, launch, timing] : pair.variants) {
      const double gb_per_s = pair.bytes / timing.median * 1e-6;
      fmt::print("{:<26} {:<16} {:>9.4f} {:>9.4f} {:>9.4f} {:>7}\n", pair.name, name, timing.median,
                 timing.p10, timing.p90, pair.bytes > 0 ? fmt::format("{:.0f}", gb_per_s) : "");
      rows.push_back({{"pair", pair.name},
                      {"variant", name},
                      {"ms", timing.median},
                      {"p10_ms", timing.p10},
                      {"p90_ms", timing.p90}});
      if (pair.bytes > 0) rows.back()["gb_per_s"] = gb_per_s;
    }
  }
  const nlohmann::ordered_json whole = {
      {"device", device.name}, {"rounds", ROUNDS}, {"pairs", rows}};
  if (!json.empty()) write_whole(json, whole.dump(1) + "\n");
}

// Serves --help. Whether there is something to measure.
bool parse(int argc, char** argv, std::string& json) {
  CLI::App app("Checks and times techniques as pairs of kernels, a slow one and a faster one.",
               "pairs");
  add_output_file(app, "--json", json, "writes the results to this file, too");
  app.footer(
      "Exit codes: 0 all right; 1 a wrong result or a CUDA error; 2 bad input; 77 no usable GPU "
      "(it needs compute capability 9.0).");
  if (!parse_arguments(app, argc, argv)) return false;
  if (!json.empty()) require_writable("--json", json);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("pairs", [&] {
    std::string json;
    if (parse(argc, argv, json)) run(json);
  });
}
