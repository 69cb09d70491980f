#pragma once
// 15 chosen_by_cost: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    the kernels of 11c and 13 to 14 with all their tiles, and of these the one that a model
//         says is done first. The model has eight constants a candidate, which a program measures:
//         ./ladder tune, on the GPU that is there.
// vs 11c  no kernel of its own; the candidates are those of four stages; the model, tuned/model.h,
//         knows what a launch, a step and a tile take, and what memory allows; a table a GPU; the
//         choice can be asked for its reasons.
// Step    none of it runs on the GPU: a list, tables and a sum, and the reasons in words.
// Limit   the choice comes to 99.5% of the fastest candidate at 22 usual shapes (H200), and at 313
//         others to 98.4%. The model has one clock: long products take up to 6% longer.
#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "11c_chosen_by_shape.cuh"
#include "13_fit_the_waves.cuh"
#include "13b_ping_pong.cuh"
#include "14_few_rows.cuh"
#include "launch.cuh"
#include "parts/no_kernel.cuh"
#include "tuned/gpus.h"
#include "tuned/model.h"

namespace ladder::chosen_by_cost {

using tuned::Candidate;
using tuned::Constants;
using tuned::Estimate;
using tuned::Gpu;
using tuned::Kernel;

// ---- The candidates ----------------------------------------------------------------------------

struct Configuration {
  Candidate candidate;
  size_t number;  // in the table of its stage
};

// Some that share a multiprocessor with two others take much longer than the model expects (H200):
// tiles in four parts of K, and tiles of 32 rows in two. They are hardly ever the fastest.
constexpr bool is_crowded(const Candidate& c) {
  return c.resident == 3 && (c.split == 4 || (c.split == 2 && c.BM == 32));
}

// Calls take(candidate, number) for all others that the four stages have.
template <class Take>
constexpr void for_each_candidate(Take take) {
  size_t number = 0;
  for (const auto& c : chosen_by_shape::CONFIGURATIONS)
    take(Candidate{Kernel::CHOSEN_BY_SHAPE, chosen_by_shape::BM, c.BN, c.cluster, 1, 1, 1},
         number++);
  const auto take_tiles = [&](Kernel kernel, const auto& configurations) {
    number = 0;
    for (const auto& c : configurations)
      take(Candidate{kernel, c.BM, c.BN, down_of(c.pairs), across_of(c.pairs), 1, 1}, number++);
  };
  take_tiles(Kernel::FIT_THE_WAVES, fit_the_waves::CONFIGURATIONS<half>);
  take_tiles(Kernel::PING_PONG, ping_pong::CONFIGURATIONS<half>);
  // GCC 13 knows how many there are only where they are an argument.
  const auto take_few_rows = [&](const auto& configurations) {
    number = 0;
    for (const auto& c : configurations) {
      for (const int resident : few_rows::BLOCKS) {
        const Candidate candidate{Kernel::FEW_ROWS, c.BM, c.BN, 1, 1, c.split, resident};
        // Copies are well ahead of multiplications. Large tiles with much to send are as fast
        // alone.
        if (c.buffers(resident) >= 4 && (resident == 1 || c.split == 1 || c.BM <= 32) &&
            !is_crowded(candidate))
          take(candidate, number);
      }
      ++number;
    }
  };
  take_few_rows(few_rows::CONFIGURATIONS<half>);
}

constexpr size_t count_candidates() {
  size_t count = 0;
  for_each_candidate([&](const Candidate&, size_t) { ++count; });
  return count;
}
constexpr size_t COUNT = count_candidates();

constexpr std::array<Configuration, COUNT> all_configurations() {
  std::array<Configuration, COUNT> all{};
  size_t count = 0;
  for_each_candidate([&](const Candidate& candidate, size_t number) {
    all[count++] = {candidate, number};
  });
  return all;
}
inline constexpr std::array<Configuration, COUNT> CONFIGURATIONS = all_configurations();

inline void gemm_as(const Configuration& c, const Gemm<half, half>& p) {
  switch (c.candidate.kernel) {
    case Kernel::CHOSEN_BY_SHAPE:
      return chosen_by_shape::gemm_as(chosen_by_shape::CONFIGURATIONS[c.number], p);
    case Kernel::FIT_THE_WAVES:
      return fit_the_waves::gemm_as(fit_the_waves::CONFIGURATIONS<half>[c.number], p);
    case Kernel::PING_PONG:
      return fit_the_waves::gemm_as(ping_pong::CONFIGURATIONS<half>[c.number], p);
    case Kernel::FEW_ROWS:
      return few_rows::gemm_as(few_rows::CONFIGURATIONS<half>[c.number], p, c.candidate.resident);
  }
}

// ---- The constants -----------------------------------------------------------------------------

// A table's constants in the order of the configurations; none for one that was not measured.
using ByConfiguration = std::array<const Constants*, COUNT>;

inline ByConfiguration by_configuration(const Gpu& gpu) {
  ByConfiguration result{};
  for (size_t i = 0; i < COUNT; ++i)
    for (const tuned::Row* row = gpu.rows; row != gpu.rows + gpu.count; ++row)
      if (row->candidate == CONFIGURATIONS[i].candidate) result[i] = &row->constants;
  return result;
}

inline const ByConfiguration& constants_of(size_t gpu) {
  using Tables = std::array<ByConfiguration, std::size(tuned::GPUS)>;
  static const Tables TABLES = [] {
    Tables tables;
    for (size_t i = 0; i < tables.size(); ++i) tables[i] = by_configuration(*tuned::GPUS[i]);
    return tables;
  }();
  return TABLES[gpu];
}

// Of tuned::GPUS the one with this name, or as many as there are.
inline size_t find_gpu(const std::string& name) {
  size_t i = 0;
  while (i < std::size(tuned::GPUS) && name != tuned::GPUS[i]->name) ++i;
  return i;
}

// What the choice knows of a device.
struct Device {
  size_t gpu;     // whose constants are taken, of tuned::GPUS
  bool is_known;  // they are its own; otherwise the first table's
  int multiprocessors;
};
inline Device device_with(size_t gpu, int multiprocessors) {
  const bool is_known = gpu < std::size(tuned::GPUS);
  return {is_known ? gpu : 0, is_known, multiprocessors};
}

// Of every device the number of its table, or one beyond them all. Looked up once: to ask for a
// name takes longer than a multiplication.
inline size_t gpu_of_device(int device) {
  static const std::vector<size_t> GPUS = [] {
    int devices = 0;
    LADDER_CUDA_CHECK(cudaGetDeviceCount(&devices));
    std::vector<size_t> gpus;
    for (int i = 0; i < devices; ++i) {
      cudaDeviceProp properties;
      LADDER_CUDA_CHECK(cudaGetDeviceProperties(&properties, i));
      gpus.push_back(find_gpu(properties.name));
    }
    return gpus;
  }();
  return GPUS[static_cast<size_t>(device)];
}
inline Device current_device() {
  int device = 0;
  LADDER_CUDA_CHECK(cudaGetDevice(&device));
  return device_with(gpu_of_device(device), device_attribute(cudaDevAttrMultiProcessorCount));
}

// ---- The choice --------------------------------------------------------------------------------

// A variant leaves out one part of the model.
enum class LeftOut { NOTHING, CONSTANTS, LINES, TILE, MEMORY };

template <LeftOut LEFT_OUT = LeftOut::NOTHING>
Estimate estimate(const Gemm<half, half>& p, const Device& device, size_t number) {
  const Candidate& candidate = CONFIGURATIONS[number].candidate;
  Constants constants = *constants_of(device.gpu)[number];
  if (LEFT_OUT == LeftOut::CONSTANTS) {  // every product takes as long, and nothing else does
    const double products = candidate.BM * candidate.BN * candidate.resident;
    constants = {0, 0, products, products, products, products, 1, 0, 1, 1};
  }
  if (LEFT_OUT == LeftOut::LINES) constants.step_off_lines = constants.step;
  if (LEFT_OUT == LeftOut::TILE) {
    constants.start_alone -= constants.tile;
    constants.tile = 0;
  }
  if (LEFT_OUT == LeftOut::MEMORY || LEFT_OUT == LeftOut::CONSTANTS)
    constants.bytes_per_ns = std::numeric_limits<double>::infinity();
  return tuned::estimate(p, candidate, constants, device.multiprocessors);
}

// The number of the configuration that is done first.
template <LeftOut LEFT_OUT = LeftOut::NOTHING>
size_t chosen(const Gemm<half, half>& p, const Device& device) {
  const ByConfiguration& constants = constants_of(device.gpu);
  size_t first = 0;
  Estimate of_first{};
  of_first.total = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < COUNT; ++i) {
    if (!constants[i]) continue;
    const Estimate e = estimate<LEFT_OUT>(p, device, i);
    if (e.less_than(of_first)) first = i, of_first = e;
  }
  return first;
}

template <LeftOut LEFT_OUT>
void gemm_without(const Gemm<half, half>& p) {
  if (done_without_kernel(p)) return;
  gemm_as(CONFIGURATIONS[chosen<LEFT_OUT>(p, current_device())], p);
}
inline void gemm(const Gemm<half, half>& p) {
  gemm_without<LeftOut::NOTHING>(p);
}

// ---- Its reasons -------------------------------------------------------------------------------

// "", or a line: that the constants are not this device's own.
inline std::string remark(const Device& device, const std::string& name) {
  if (device.is_known) return "";
  return "no constants for " + name + ": those of " + tuned::GPUS[device.gpu]->name +
         " are taken; ./ladder tune measures its own";
}

// The configurations nearest to the fastest, a line each, and what the model says of them.
inline std::string explain(const Gemm<half, half>& p, const Device& device, size_t lines = 3) {
  const ByConfiguration& constants = constants_of(device.gpu);
  std::array<size_t, COUNT> order{};
  std::array<Estimate, COUNT> estimates{};
  size_t count = 0;
  for (size_t i = 0; i < COUNT; ++i)
    if (constants[i]) {
      estimates[i] = estimate(p, device, i);
      order[count++] = i;
    }
  std::stable_sort(order.begin(), order.begin() + count,
                   [&](size_t a, size_t b) { return estimates[a].less_than(estimates[b]); });
  std::string text;
  for (size_t line = 0; line < std::min(lines, count); ++line) {
    const size_t i = order[line];
    text += tuned::describe(CONFIGURATIONS[i].candidate, *constants[i], estimates[i]) + "\n";
  }
  return text;
}

}  // namespace ladder::chosen_by_cost
