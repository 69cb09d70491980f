#pragma once
// The one header a stage includes: its kernels' names in, a checked and timed report out.
#include <functional>
#include <string>
#include <vector>

#include "common.cuh"

namespace harness {

// Both come from the stage's line in CMakeLists.txt.
struct Stage {
  std::string name;          // the shared basename, "03_transposed_b"
  std::string architecture;  // what it runs on: "80" is 8.0 and up, "90a" is 9.0 alone
};

template <class In, class Out>
struct Variant {
  std::string name;
  std::function<void(const Gemm<In, Out>&)> gemm;
};

// Exit codes of a stage.
enum Exit {
  EXIT_OK = 0,
  EXIT_FAILED = 1,      // a wrong result, or CUDA reported an error
  EXIT_BAD_INPUT = 2,   // an option, size or path that cannot be served
  EXIT_NO_DEVICE = 77,  // no GPU, or one of the wrong compute capability
};

// Runs the variants as the command line says and returns the exit code. The stage's own variant is
// the last one. Never throws. Defined for float -> float and half -> half.
template <class In, class Out>
int run(const Stage& stage, const std::vector<Variant<In, Out>>& variants, int argc, char** argv);

}  // namespace harness
