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
#include <optional>
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
#include "tensor_pairs.cuh"

namespace {

using namespace ladder;
using namespace ladder::harness;
using namespace pairs;

constexpr int COUNT = 8192 * 8192, QUADS = COUNT / 4, ROUNDS = 30;
constexpr int FIRST_SMALL = 1 << 20, LARGE_SMALL = 6 << 20;  // floats: 4 MB and 25 MB
constexpr int ITEMS = 4096, STREAMS = 8;
constexpr float BIAS = 0.25f, FACTOR = 1.5f;
constexpr int SIDE = 4096, SIDE_STEPS = SIDE / 16;  // of products, in steps of 16 along K

// What the compiler and a launch made of a kernel.
struct Facts {
  int registers, spilled_bytes;  // of a thread
  int threads;                   // of a block
  int warps;                     // that fit on a multiprocessor
};

struct Variant {
  std::string name;
  std::function<void()> launch;
  std::optional<Facts> facts{};
  double tolerance = 0;  // if it is not the pair's
  double error = 0;      // root of the mean square, as a part of the results'
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
  double scale = 1;       // a difference of `tolerance` of it is allowed, and of the value
  bool tells_error = false;
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
  // A and B of products, in fragments: the first numbers in fp16, and the same without signs.
  DeviceBuffer<half> with_signs{2 * SIDE * SIDE}, without{2 * SIDE * SIDE};
  std::array<Stream, STREAMS> streams;
  Data() {
    for (size_t i = 0; i < COUNT; ++i) host[i] = random_uniform(1, harness::Stream::A, i);
    in.upload(host);
    std::vector<half> halves(2 * SIDE * SIDE);
    for (const bool is_signed : {true, false}) {
      for (size_t i = 0; i < halves.size(); ++i)
        halves[i] = __float2half(is_signed ? host[i] : std::abs(host[i]));
      (is_signed ? with_signs : without).upload(halves);
    }
  }
  double value(int i) const { return host[static_cast<size_t>(i)]; }
  double in_fp16(int i) const {
    return double{__half2float(__float2half(host[static_cast<size_t>(i)]))};
  }
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

template <class Kernel>
Facts facts_of(Kernel* kernel, int threads) {
  cudaFuncAttributes attributes{};
  LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  int blocks = 0;
  LADDER_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
  return {attributes.numRegs, static_cast<int>(attributes.localSizeBytes), threads,
          blocks * threads / 32};
}

template <class Kernel, class... Arguments>
Variant with_facts(const std::string& name, Kernel* kernel, int blocks, int threads,
                   Arguments... arguments) {
  return {name, [=] { launch(kernel, dim3(blocks), dim3(threads), 0, nullptr, arguments...); },
          facts_of(kernel, threads)};
}

void add_occupancy(std::vector<Pair>& all, Data& data) {
  constexpr int COLUMNS = COUNT / STEPS;
  const float* const in = data.in.get();
  const auto* const weights = reinterpret_cast<const float4*>(in);
  const auto product = [&](int i) {
    double sum = 0;
    for (int step = 0; step < STEPS; ++step)
      sum += data.value(step * COLUMNS + i % COLUMNS) * data.value(step * OUTPUTS + i / COLUMNS);
    return sum;
  };
  const auto variant = [&](const std::string& name, auto* kernel, int threads) {
    return with_facts(name, kernel, ceil_div(COLUMNS, threads), threads, in, weights, COLUMNS,
                      data.out.get());
  };
  int least_blocks = 0, threads = 0;
  LADDER_CUDA_CHECK(
      cudaOccupancyMaxPotentialBlockSize(&least_blocks, &threads, any_block_kernel, 0, 0));
  all.push_back({"block_size",
                 0,
                 OUTPUTS * COLUMNS,
                 8191,
                 1e-5,
                 product,
                 {variant("guessed_512", any_block_kernel, 512),
                  variant("guessed_128", any_block_kernel, 128),
                  variant("of_the_api", any_block_kernel, threads)}});
  all.push_back(
      {"registers",
       0,
       OUTPUTS * COLUMNS,
       8191,
       1e-5,
       product,
       {variant("one_block", blocks_kernel<1>, 256), variant("four_blocks", blocks_kernel<4>, 256),
        variant("eight_blocks", blocks_kernel<8>, 256)}});
}

void add_sums(std::vector<Pair>& all, Data& data) {
  for (const bool is_signed : {true, false}) {
    const auto* const a =
        reinterpret_cast<const Fragment*>((is_signed ? data.with_signs : data.without).get());
    const auto variant = [&](const std::string& name, auto* kernel) {
      return with_facts(name, kernel, SIDE / SUMS_M * (SIDE / SUMS_N), 256, a, a + SIDE * SIDE / 8,
                        SIDE / SUMS_N, SIDE_STEPS, data.out.get());
    };
    Pair pair{is_signed ? "sums" : "sums_without_signs",
              0,
              SIDE * SIDE,
              8191,
              1e-4,
              [=, &data](int i) {
                double sum = 0;
                for (int k = 0; k < SIDE; ++k) {
                  const int of_b = SIDE * SIDE + place_in_b(i % SIDE, k, SIDE_STEPS);
                  const double product =
                      data.in_fp16(place_in_a(i / SIDE, k, SIDE_STEPS)) * data.in_fp16(of_b);
                  sum += is_signed ? product : std::abs(product);
                }
                return sum;
              },
              {variant("fp32", sums_kernel<SumsInFp32>), variant("fp16", sums_kernel<SumsInFp16>)}};
    pair.variants[1].tolerance = 0.1;
    pair.scale = std::sqrt(SIDE) / 3;  // what sums of numbers with signs are like
    pair.tells_error = true;
    all.push_back(pair);
  }
}

using WmmaKernel = void(const float*, const float*, float*);
using WmmaKernels = std::vector<std::pair<std::string, WmmaKernel*>>;
Pair wmma_pair(const std::string& name, int columns, double tolerance, const WmmaKernels& kernels,
               Data& data) {
  const int blocks = 16 * device_attribute(cudaDevAttrMultiProcessorCount);
  const float* const in = data.in.get();
  const auto product = [=, &data](int i) {
    double sum = 0;
    for (int k = 0; k < WMMA_DEPTH; ++k)
      sum += data.value(i / columns * WMMA_DEPTH + k) * data.value(k * columns + i % columns);
    return WMMA_REPEATS * sum;
  };
  Pair pair{name, 0, blocks * WMMA_ROWS * columns, 8191, tolerance, product, {}};
  for (const auto& [of, kernel] : kernels)
    pair.variants.push_back(with_facts(of, kernel, blocks, 128, in, in, data.out.get()));
  pair.scale = WMMA_REPEATS * std::sqrt(WMMA_DEPTH) / 3;
  pair.tells_error = true;
  return pair;
}
void add_wmma(std::vector<Pair>& all, Data& data) {
  const WmmaKernels shapes = {{"16x16x16", wmma_kernel<half, 16, 64>},
                              {"32x8x16", wmma_kernel<half, 32, 64>}};
  const WmmaKernels shapes_of_8 = {{"16x16x16", wmma_kernel<half, 16, 8>},
                                   {"32x8x16", wmma_kernel<half, 32, 8>}};
  const WmmaKernels types = {{"bf16", wmma_kernel<__nv_bfloat16, 16, 64>},
                             {"bf16_from_shared", wmma_kernel<__nv_bfloat16, 16, 64, true>},
                             {"fp16", wmma_kernel<half, 16, 64>}};
  all.push_back(wmma_pair("wmma_shape", 64, 2e-3, shapes, data));
  all.push_back(wmma_pair("wmma_eight_columns", 8, 2e-3, shapes_of_8, data));
  all.push_back(wmma_pair("wmma_bf16", 64, 2e-2, types, data));
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
  add_occupancy(all, data);
  add_sums(all, data);
  add_wmma(all, data);
  return all;
}

void check(Pair& pair, Data& data) {
  for (Variant& variant : pair.variants) {
    const double tolerance = variant.tolerance > 0 ? variant.tolerance : pair.tolerance;
    double off = 0, all = 0;
    data.out.fill(0xFF, nullptr);
    variant.launch();
    std::vector<float> got(static_cast<size_t>(pair.results));
    LADDER_CUDA_CHECK(
        cudaMemcpy(got.data(), data.out.get(), got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < pair.results; i += pair.step) {
      const double value = pair.expected(i), of_gpu = got[static_cast<size_t>(i)];
      if (!(std::abs(of_gpu - value) <= tolerance * (pair.scale + std::abs(value))))
        throw std::runtime_error(fmt::format("{}/{}: element {} is {}, not {}", pair.name,
                                             variant.name, i, of_gpu, value));
      off += (of_gpu - value) * (of_gpu - value);
      all += value * value;
    }
    variant.error = std::sqrt(off / all);
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

void run(const std::string& json, bool only_check) {
  const Device device = select_device(0, 90, false);
  Data data;
  if (only_check) {
    std::vector<Pair> all = all_pairs(data);
    for (Pair& pair : all) check(pair, data);
    fmt::print("{} pairs are right\n", all.size());
    return;
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  fmt::print("{}: {} launches of each variant of a pair in turn\n", device.name, ROUNDS);
  fmt::print("{:<26} {:<16} {:>9} {:>9} {:>9} {:>7}\n", "pair", "variant", "ms", "p10", "p90",
             "GB/s");
  for (Pair& pair : all_pairs(data)) {
    check(pair, data);
    time(pair);
    for (const Variant& variant : pair.variants) {
      const Timing& timing = variant.timing;
      const double gb_per_s = pair.bytes / timing.median * 1e-6;
      fmt::print("{:<26} {:<16} {:>9.4f} {:>9.4f} {:>9.4f} {:>7}", pair.name, variant.name,
                 timing.median, timing.p10, timing.p90,
                 pair.bytes > 0 ? fmt::format("{:.0f}", gb_per_s) : "");
      rows.push_back({{"pair", pair.name},
                      {"variant", variant.name},
                      {"ms", timing.median},
                      {"p10_ms", timing.p10},
                      {"p90_ms", timing.p90}});
      if (pair.bytes > 0) rows.back()["gb_per_s"] = gb_per_s;
      if (variant.facts) {
        const auto [registers, spilled_bytes, threads, warps] = *variant.facts;
        fmt::print(" {} registers, {} bytes spilled, blocks of {}, {} warps fit", registers,
                   spilled_bytes, threads, warps);
        rows.back().update({{"registers", registers},
                            {"spilled_bytes", spilled_bytes},
                            {"threads", threads},
                            {"warps", warps}});
      }
      if (pair.tells_error) {
        fmt::print(", error {:.2e}", variant.error);
        rows.back()["error"] = variant.error;
      }
      fmt::print("\n");
    }
  }
  const nlohmann::ordered_json whole = {
      {"device", device.name}, {"rounds", ROUNDS}, {"pairs", rows}};
  if (!json.empty()) write_whole(json, whole.dump(1) + "\n");
}

// Serves --help. Whether there is something to measure.
bool parse(int argc, char** argv, std::string& json, bool& only_check) {
  CLI::App app("Checks and times techniques as pairs of kernels, a slow one and a faster one.",
               "pairs");
  auto* const times = add_output_file(app, "--json", json, "writes the results to this file, too");
  app.add_flag("--check", only_check, "launches each variant once and times none, as for ncu")
      ->excludes(times);
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
    bool only_check = false;
    if (parse(argc, argv, json, only_check)) run(json, only_check);
  });
}
