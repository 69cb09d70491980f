// build/around_gemm: the exercises around GEMM at full size: each solution of exercises/49 to 58
// and a slow variant of it, which is one of the wrong solutions there. docs/beyond_gemm.md quotes
// it.
//
// Matrices of 8192 x 8192 floats, 268 MB, far beyond the L2 cache. Every kernel's result is
// compared once with a reference. Then they are launched in turn, in bursts with rests between
// them. Exit codes: 0 all right; 1 a wrong result or a CUDA error; 2 bad input; 77 no usable GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "exercises/exercise.h"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/program.h"
#include "harness/random.h"
#include "harness/report.h"
#include "harness/timer.h"

namespace transpose {
#include "../../exercises/49_transpose/solution.cuh"
}
namespace transpose_without_a_tile {
#include "49_transpose/without_a_tile.cuh"
}
namespace transpose_no_padding {
#include "49_transpose/no_padding.cuh"
}
namespace warp_sum {
#include "../../exercises/50_warp_sum/solution.cuh"
}
namespace warp_sum_one_lane_for_all {
#include "50_warp_sum/one_lane_for_all.cuh"
}
namespace row_sums {
#include "../../exercises/51_row_sums/solution.cuh"
}
namespace row_sums_tree {
#include "51_row_sums/tree_in_shared_memory.cuh"
}
namespace softmax {
#include "../../exercises/52_softmax/solution.cuh"
}
namespace softmax_three_passes {
#include "52_softmax/three_passes.cuh"
}
namespace gemv {
#include "../../exercises/53_gemv/solution.cuh"
}
namespace gemv_a_piece_a_thread {
#include "53_gemv/a_piece_a_thread.cuh"
}
namespace arrays {
#include "../../exercises/54_structure_of_arrays/solution.cuh"
}
namespace arrays_as_it_was {
#include "54_structure_of_arrays/as_it_was.cuh"
}
namespace divergence {
#include "../../exercises/55_divergence/solution.cuh"
}
namespace divergence_as_it_was {
#include "55_divergence/as_it_was.cuh"
}
namespace tails {
#include "../../exercises/56_tails_of_float4/solution.cuh"
}
namespace tails_one_by_one {
#include "56_tails_of_float4/one_by_one.cuh"
}
namespace atomics {
#include "../../exercises/57_atomics/solution.cuh"
}
namespace atomics_one_a_thread {
#include "57_atomics/one_a_thread.cuh"
}
namespace atomics_one_a_number {
#include "57_atomics/one_a_number.cuh"
}
namespace histogram {
#include "../../exercises/58_histogram/solution.cuh"
}
namespace histogram_in_global_memory {
#include "58_histogram/in_global_memory.cuh"
}

namespace {

using namespace ladder;
using namespace ladder::harness;

constexpr int SIZE = 8192, COUNT = SIZE * SIZE, ROUNDS = 30;
constexpr float FACTOR = 2.5f, DT = 0.25f;
constexpr int FIELDS = arrays::FIELDS, PARTICLES = COUNT / FIELDS;

__global__ void copy_kernel(const float4* in, float4* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = in[i];
}

struct Contender {
  std::string exercise, variant;
  double bytes;      // that have to be moved
  bool writes_much;  // compared with the copy, otherwise with the best that reads
  std::function<void()> launch, check;
  Timing timing{};
  double gb_per_s() const { return bytes / timing.median * 1e-6; }
};

// Memory of the device and the host's copy of the inputs.
struct Data {
  std::vector<float> matrix = std::vector<float>(COUNT), x = std::vector<float>(SIZE);
  std::vector<unsigned> bins = std::vector<unsigned>(COUNT);
  DeviceBuffer<float> in{COUNT}, out{COUNT}, vector{SIZE}, particles{COUNT};
  DeviceBuffer<unsigned> numbers{COUNT};
  Data() {
    for (size_t i = 0; i < COUNT; ++i) {
      matrix[i] = random_uniform(1, Stream::A, i);
      bins[i] = static_cast<unsigned>(random_bits(2, Stream::A, i) >> 56);
    }
    for (size_t i = 0; i < SIZE; ++i) x[i] = random_uniform(1, Stream::B, i);
    in.upload(matrix);
    vector.upload(x);
    numbers.upload(bins);
  }
  double value(int64_t row, int64_t column) const {
    return matrix[static_cast<size_t>(row * SIZE + column)];
  }
};

// Fills out with `byte`s, launches, and compares every `step`-th of `count` elements.
template <class T>
void check_output(const std::string& name, Data& data, const std::function<void()>& launch,
                  int byte, int count, int step, double tolerance,
                  const std::function<double(int)>& expected) {
  data.out.fill(byte, nullptr);
  launch();
  std::vector<T> got(static_cast<size_t>(count));
  LADDER_CUDA_CHECK(
      cudaMemcpy(got.data(), data.out.get(), got.size() * sizeof(T), cudaMemcpyDeviceToHost));
  for (int i = 0; i < count; i += step) {
    const double value = expected(i), of_gpu = got[static_cast<size_t>(i)];
    if (!(std::abs(of_gpu - value) <= tolerance * (1 + std::abs(value))))
      throw std::runtime_error(fmt::format("{}: element {} is {}, not {}", name, i, of_gpu, value));
  }
}

// Of every kernel's result some elements are looked at, of all rows and columns modulo 32.
std::vector<Contender> contenders(Data& data) {
  std::vector<Contender> all;
  const float* const in = data.in.get();
  float* const out = data.out.get();
  const double matrix_bytes = 4.0 * COUNT;
  const auto add = [&](const std::string& exercise, const std::string& variant, double bytes,
                       bool writes_much, const std::function<void()>& launched, auto type, int byte,
                       int count, int step, double tolerance,
                       const std::function<double(int)>& expected) {
    all.push_back({exercise, variant, bytes, writes_much, launched, [=, &data] {
                     check_output<decltype(type)>(exercise + "/" + variant, data, launched, byte,
                                                  count, step, tolerance, expected);
                   }});
  };
  const auto whole = [&](const std::string& exercise, const std::string& variant,
                         const std::function<void()>& launched, double tolerance,
                         const std::function<double(int)>& expected) {
    add(exercise, variant, 2 * matrix_bytes, true, launched, 0.0f, 0xFF, COUNT, 8191, tolerance,
        expected);
  };
  const auto rows = [&](const std::string& exercise, const std::string& variant,
                        const std::function<void()>& launched,
                        const std::function<double(int)>& expected) {
    add(exercise, variant, matrix_bytes, false, launched, 0.0f, 0xFF, SIZE, 1, 1e-3, expected);
  };

  whole(
      "copy", "float4",
      [=] {
        launch(copy_kernel, dim3(COUNT / 4 / 256), dim3(256), 0, nullptr,
               reinterpret_cast<const float4*>(in), reinterpret_cast<float4*>(out));
      },
      0, [&](int i) { return data.value(0, i); });

  const auto transposed = [&](const std::string& variant, auto kernel, int tile) {
    whole(
        "transpose", variant,
        [=] {
          launch(kernel, dim3(SIZE / tile, SIZE / tile), dim3(32, 8), 0, nullptr, SIZE, SIZE, in,
                 SIZE, out, SIZE);
        },
        0, [&](int i) { return data.value(i % SIZE, i / SIZE); });
  };
  transposed("solution", transpose::transpose_kernel, transpose::TILE);
  transposed("no_padding", transpose_no_padding::transpose_kernel, transpose_no_padding::TILE);
  transposed("without_a_tile", transpose_without_a_tile::transpose_kernel,
             transpose_without_a_tile::TILE);

  const auto sum_of_row = [&](int row) {
    double sum = 0;
    for (int k = 0; k < SIZE; ++k) sum += data.value(row, k);
    return sum;
  };
  const auto warp_sums = [&](const std::string& variant, auto kernel) {
    rows(
        "warp_sum", variant,
        [=] { launch(kernel, dim3(SIZE / 8), dim3(256), 0, nullptr, SIZE, SIZE, in, SIZE, out); },
        sum_of_row);
  };
  warp_sums("solution", warp_sum::warp_sum_kernel);
  warp_sums("one_lane_for_all", warp_sum_one_lane_for_all::warp_sum_kernel);
  const auto sums = [&](const std::string& variant, auto kernel) {
    rows(
        "row_sums", variant,
        [=] { launch(kernel, dim3(SIZE), dim3(512), 0, nullptr, SIZE, in, SIZE, out); },
        sum_of_row);
  };
  sums("solution", row_sums::row_sums_kernel);
  sums("tree_in_shared_memory", row_sums_tree::row_sums_kernel);

  const auto softmaxes = [&](const std::string& variant, auto kernel) {
    whole(
        "softmax", variant,
        [=] { launch(kernel, dim3(SIZE), dim3(256), 0, nullptr, SIZE, in, SIZE, out, SIZE); }, 1e-7,
        [&](int i) {  // the results are about 1e-4
          double sum = 0;
          for (int k = 0; k < SIZE; ++k) sum += std::exp(data.value(i / SIZE, k));
          return std::exp(data.value(0, i)) / sum;
        });
  };
  softmaxes("solution", softmax::softmax_kernel<SIZE / 1024>);
  softmaxes("three_passes", softmax_three_passes::softmax_kernel<SIZE / 1024>);

  const float* const x = data.vector.get();
  const auto products = [&](const std::string& variant, auto kernel) {
    rows(
        "gemv", variant,
        [=] { launch(kernel, dim3(SIZE), dim3(256), 0, nullptr, SIZE, in, SIZE, x, out); },
        [&](int row) {
          double sum = 0;
          for (int k = 0; k < SIZE; ++k)
            sum += data.value(row, k) * double{data.x[static_cast<size_t>(k)]};
          return sum;
        });
  };
  products("solution", gemv::gemv_kernel);
  products("a_piece_a_thread", gemv_a_piece_a_thread::gemv_kernel);

  float* const particles = data.particles.get();
  const auto moved = [&](const std::string& variant, auto fill, auto move, auto positions) {
    const auto over = [=](auto kernel, auto... arguments) {
      launch(kernel, dim3(PARTICLES / 256), dim3(256), 0, nullptr, PARTICLES, PARTICLES,
             arguments...);
    };
    // The fields that it reads, 6, and writes, 3. A check lays them out first and reads them after.
    add("structure_of_arrays", variant, 9 * 4.0 * PARTICLES, true,
        [=] { over(move, DT, particles); }, 0.0f, 0, 0, 1, 0, {});
    all.back().check = [=, &data] {
      const auto chain = [=] {
        over(fill, in, PARTICLES, particles);
        over(move, DT, particles);
        over(positions, particles, out, PARTICLES);
      };
      check_output<float>(
          "structure_of_arrays/" + variant, data, chain, 0xFF, 3 * PARTICLES, 8191, 1e-6,
          [&](int i) { return data.value(0, i) + DT * data.value(0, i + 3 * PARTICLES); });
    };
  };
  moved("solution", arrays::fill_kernel, arrays::move_kernel, arrays::positions_kernel);
  moved("as_it_was", arrays_as_it_was::fill_kernel, arrays_as_it_was::move_kernel,
        arrays_as_it_was::positions_kernel);

  const auto corrected = [&](const std::string& variant, auto kernel) {
    const auto* const a = reinterpret_cast<const float4*>(x);
    whole(
        "divergence", variant,
        [=] {
          launch(kernel, dim3(COUNT / 256), dim3(256), 0, nullptr, COUNT, in, a,
                 a + divergence::STEPS / 4, out);
        },
        1e-4,
        [&](int i) {
          const double sample = data.value(0, i);
          double value = 0;
          for (size_t k = 0; k < divergence::STEPS; ++k)
            value = i / 16 % 2 == 0 ? value * sample + double{data.x[k]}
                                    : value * double{data.x[divergence::STEPS + k]} + sample;
          return value;
        });
  };
  corrected("solution", divergence::correct_kernel);
  corrected("as_it_was", divergence_as_it_was::correct_kernel);

  const auto scaled = [&](const std::string& variant, auto kernel) {
    whole(
        "tails_of_float4", variant,
        [=] {
          launch(kernel, dim3(COUNT / 4 / 256), dim3(256), 0, nullptr, COUNT, FACTOR, in, out);
        },
        1e-6, [&](int i) { return FACTOR * data.value(0, i); });
  };
  scaled("solution", tails::scale_kernel);
  scaled("one_by_one", tails_one_by_one::scale_kernel);

  const int blocks = 8 * device_attribute(cudaDevAttrMultiProcessorCount);
  const auto totals = [&](const std::string& variant, auto kernel) {
    add(
        "atomics", variant, matrix_bytes, false,
        [=] { launch(kernel, dim3(blocks), dim3(256), 0, nullptr, COUNT, in, out); }, 0.0f, 0, 1, 1,
        1e-2,
        [&](int) {
          double sum = 0;
          for (const float value : data.matrix) sum += double{value};
          return sum;
        });
  };
  totals("solution", atomics::total_kernel);
  totals("one_a_thread", atomics_one_a_thread::total_kernel);
  totals("one_a_number", atomics_one_a_number::total_kernel);

  const unsigned* const numbers = data.numbers.get();
  const auto counted = [&](const std::string& variant, auto kernel) {
    add(
        "histogram", variant, matrix_bytes, false,
        [=] {
          launch(kernel, dim3(blocks), dim3(256), 0, nullptr, COUNT, numbers,
                 reinterpret_cast<unsigned*>(out));
        },
        0U, 0, 256, 1, 0,
        [&](int bin) {
          return std::count(data.bins.begin(), data.bins.end(), static_cast<unsigned>(bin));
        });
  };
  counted("solution", histogram::histogram_kernel);
  counted("in_global_memory", histogram_in_global_memory::histogram_kernel);
  return all;
}

void print(const Device& device, const std::vector<Contender>& all, double copy, double read) {
  fmt::print("{}: {} x {} floats, {} launches of each in turn\n", device.name, SIZE, SIZE, ROUNDS);
  fmt::print("{:<20} {:<24} {:>9} {:>9} {:>9} {:>7} {:>8} {:>8}\n", "exercise", "variant", "ms",
             "p10", "p90", "GB/s", "of copy", "of read");
  for (const Contender& c : all)
    fmt::print("{:<20} {:<24} {:>9.4f} {:>9.4f} {:>9.4f} {:>7.0f} {:>7.1f}% {:>8}\n", c.exercise,
               c.variant, c.timing.median, c.timing.p10, c.timing.p90, c.gb_per_s(),
               100 * c.gb_per_s() / copy,
               c.writes_much ? "" : fmt::format("{:.1f}%", 100 * c.gb_per_s() / read));
}

std::string to_json(const Device& device, const std::vector<Contender>& all, double copy,
                    double read) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const Contender& c : all) {
    kernels.push_back({{"exercise", c.exercise},
                       {"variant", c.variant},
                       {"ms", c.timing.median},
                       {"p10_ms", c.timing.p10},
                       {"p90_ms", c.timing.p90},
                       {"gb_per_s", c.gb_per_s()},
                       {"of_copy", c.gb_per_s() / copy}});
    if (!c.writes_much) kernels.back()["of_read"] = c.gb_per_s() / read;
  }
  const nlohmann::ordered_json json = {
      {"device", device.name}, {"size", SIZE}, {"rounds", ROUNDS}, {"kernels", kernels}};
  return json.dump(1) + "\n";
}

void run(const std::string& json) {
  const Device device = select_device(0, 90, false);
  Data data;
  std::vector<Contender> all = contenders(data);
  std::vector<LaunchOn> launches;
  for (const Contender& c : all) {
    c.check();
    launches.push_back([&c](int) { c.launch(); });
  }
  const std::vector<Timing> timings = time_interleaved(launches, {1, 3, ROUNDS}, nullptr);
  double copy = 0, read = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].timing = timings[i];
    if (all[i].exercise == "copy") copy = all[i].gb_per_s();
    if (!all[i].writes_much) read = std::max(read, all[i].gb_per_s());
  }
  print(device, all, copy, read);
  if (!json.empty()) write_whole(json, to_json(device, all, copy, read));
}

// Serves --help. Whether there is something to measure.
bool parse(int argc, char** argv, std::string& json) {
  CLI::App app("Checks and times the kernels of exercises 49 to 58, and a slow variant of each.",
               "around_gemm");
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
  return run_program("around_gemm", [&] {
    std::string json;
    if (parse(argc, argv, json)) run(json);
  });
}
