#pragma once
// What stages/15_chosen_by_cost.cu tells of the stage, and library.cu of the library, so that
// nobody has to compile their kernels again.
#include <cuda_fp16.h>

#include <functional>
#include <string>
#include <vector>

#include "extensions.h"
#include "tuned/choice.h"

namespace ladder::tune {

// Which matrices are by columns: none, B, or A.
enum class Layout { NN, NT, TN };
inline constexpr Layout LAYOUTS[] = {Layout::NN, Layout::NT, Layout::TN};
inline constexpr const char* LAYOUT_NAMES[] = {"NN", "NT", "TN"};

// A configuration that is chosen among, forced, for matrices of a layout.
struct Tunable {
  tuned::Candidate candidate;
  std::function<void(const Gemm<half, half>&)> gemm;
  Layout layout = Layout::NN;
};
// What the launcher chooses among, and what the library does beside it.
std::vector<Tunable> tunables();
std::vector<Tunable> tunables_of_library();

// What the launcher does on a GPU of that name: the one it takes,
tuned::Candidate choose(const Gemm<half, half>& problem, const std::string& gpu,
                        int multiprocessors);
// and what the model says of the nearest ones, a line each.
std::string explain(const Gemm<half, half>& problem, const std::string& gpu, int multiprocessors,
                    size_t lines);

}  // namespace ladder::tune
