#pragma once
// 15 chosen_by_cost: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    the kernels of 11c and 13 to 14 with all their tiles, and of these the one that a model
//         says is done first. The model has ten constants per candidate, which a program measures:
//         ./ladder tune, on the GPU that is there.
// vs 11c  no kernel of its own; the candidates are those of four stages; the model, tuned/model.h,
//         knows what a launch, a step and a tile take, and what memory allows; a table a GPU;
//         tuned/choice.h, the choice from a table, which can be asked for its reasons.
// Limit   the choice comes to 99.5% of the fastest candidate at 22 usual shapes (H200), and at 313
//         others to 98.4%. The model has one clock: long products take up to 7% longer.
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include "11c_chosen_by_shape.cuh"
#include "13_fit_the_waves.cuh"
#include "13b_ping_pong.cuh"
#include "14_few_rows.cuh"
#include "launch.cuh"
#include "parts/no_kernel.cuh"
#include "tuned/choice.h"

namespace ladder::chosen_by_cost {

using tuned::Candidate;
using tuned::Constants;
using tuned::Gpu;
using tuned::Kernel;
using Problem = Gemm<half, half>;

// ---- The candidates ----------------------------------------------------------------------------

struct Configuration {
  Candidate candidate;
  std::function<void(const Problem&)> gemm;
};

// Some that share a multiprocessor with two others take much longer than the model expects (H200):
// tiles in four parts of K, and tiles of 32 rows in two. They are hardly ever the fastest.
constexpr bool is_crowded(const Candidate& c) {
  return c.resident == 3 && (c.split == 4 || (c.split == 2 && c.BM == 32));
}

// All others that the four stages have.
inline std::vector<Configuration> all_configurations() {
  std::vector<Configuration> all;
  for (const auto& c : chosen_by_shape::CONFIGURATIONS)
    all.push_back({{Kernel::CHOSEN_BY_SHAPE, chosen_by_shape::BM, c.BN, c.cluster, 1, 1, 1},
                   [&c](const Problem& p) { chosen_by_shape::gemm_as(c, p); }});
  const auto append_tiles = [&](Kernel kernel, const auto& configurations) {
    for (const auto& c : configurations)
      all.push_back({{kernel, c.BM, c.BN, down_of(c.pairs), across_of(c.pairs), 1, 1},
                     [&c](const Problem& p) { fit_the_waves::gemm_as(c, p); }});
  };
  append_tiles(Kernel::FIT_THE_WAVES, fit_the_waves::CONFIGURATIONS<half>);
  append_tiles(Kernel::PING_PONG, ping_pong::CONFIGURATIONS<half>);
  for (const auto& c : few_rows::CONFIGURATIONS<half>)
    for (const int resident : few_rows::BLOCKS) {
      const Candidate candidate{Kernel::FEW_ROWS, c.BM, c.BN, 1, 1, c.split, resident};
      // Copies are well ahead of multiplications. Large tiles with much to send are as fast alone.
      if (c.buffers(resident) >= 4 && (resident == 1 || c.split == 1 || c.BM <= 32) &&
          !is_crowded(candidate))
        all.push_back(
            {candidate, [&c, resident](const Problem& p) { few_rows::gemm_as(c, p, resident); }});
    }
  return all;
}
inline const std::vector<Configuration> CONFIGURATIONS = all_configurations();

// ---- The choice --------------------------------------------------------------------------------

// A variant leaves out one part of the model.
enum class LeftOut { NOTHING, CONSTANTS, LINES, TILE, MEMORY };

template <LeftOut LEFT_OUT>
Constants constants_of(const tuned::Row& row) {
  Constants constants = row.constants;
  if (LEFT_OUT == LeftOut::CONSTANTS) {  // every product takes as long, and nothing else does
    const double products = row.candidate.BM * row.candidate.BN * row.candidate.resident;
    constants = {0, 0, products, products, products, products, 1, 0, 1, 1};
  }
  if (LEFT_OUT == LeftOut::LINES) constants.step_off_lines = constants.step;
  if (LEFT_OUT == LeftOut::TILE) {
    constants.start_alone -= constants.tile;
    constants.tile = 0;
  }
  if (LEFT_OUT == LeftOut::MEMORY || LEFT_OUT == LeftOut::CONSTANTS)
    constants.bytes_per_ns = std::numeric_limits<double>::infinity();
  return constants;
}

// A table has candidates of the library, too.
constexpr bool is_of_a_stage(const Candidate& c) {
  return !tuned::is_of_library(c);
}

// The configuration that is done first.
template <LeftOut LEFT_OUT = LeftOut::NOTHING>
const Configuration& chosen(const Problem& p, const Gpu& table, int multiprocessors) {
  const tuned::Row* const row =
      tuned::first_done(p, table, multiprocessors, is_of_a_stage, constants_of<LEFT_OUT>).row;
  for (const Configuration& c : CONFIGURATIONS)
    if (c.candidate == row->candidate) return c;
  throw std::logic_error("a table has " + tuned::name(row->candidate) + ", which no stage has");
}

// Of the current device. Looked up once: to ask for a name takes longer than a multiplication.
inline const Gpu& current_table() {
  static thread_local std::map<int, const Gpu*> tables;
  int device = 0;
  LADDER_CUDA_CHECK(cudaGetDevice(&device));
  const Gpu*& table = tables[device];
  if (!table) {
    cudaDeviceProp properties;
    LADDER_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    table = &tuned::table_of(properties.name);
  }
  return *table;
}

template <LeftOut LEFT_OUT>
void gemm_without(const Problem& p) {
  if (done_without_kernel(p)) return;
  chosen<LEFT_OUT>(p, current_table(), device_attribute(cudaDevAttrMultiProcessorCount)).gemm(p);
}
inline void gemm(const Problem& p) {
  gemm_without<LeftOut::NOTHING>(p);
}

}  // namespace ladder::chosen_by_cost
