#pragma once
// The one header a stage includes: its kernels' names in, a checked and timed report out.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "epilogue.h"
#include "launch.cuh"
#include "options.h"
#include "sums.h"
#include "types.cuh"

namespace ladder::harness {

// A stage's entry in stages/manifest.json, as its generated stage.h has it.
struct Stage {
  std::string name;        // the shared basename, "03_transposed_b"
  int compute_capability;  // the lowest it runs on, 90 for 9.0
  bool no_other;           // and the only one
  bool aligned_rows;       // leading dimensions are multiples of 16 bytes
  bool tensor_cores;
  Reference reference = Reference::CUBLAS;  // what it is timed beside, unless --reference says
  Sums sums = Sums::FP32;
  // Of a stage that takes epilogues: the one that it is run with, unless options say.
  std::optional<EpilogueChoice> epilogue{};
  bool any_layout = false;  // takes A and B as --layout says
  bool groups = false;      // takes groups
};

template <class In, class Out>
using GemmFunction = std::function<void(const Gemm<In, Out>&)>;

template <class In, class Out>
struct Variant {
  // Bytes of device memory that a problem's workspace has to have.
  using WorkspaceBytes = std::function<uint64_t(const Gemm<In, Out>&)>;

  std::string name;
  GemmFunction<In, Out> gemm;
  WorkspaceBytes workspace_bytes;  // absent where it needs none
  Rounds rounds;

  Variant(std::string n, GemmFunction<In, Out> g, WorkspaceBytes w = nullptr,
          Rounds r = Rounds::ONCE)
      : name(std::move(n)), gemm(std::move(g)), workspace_bytes(std::move(w)), rounds(r) {}
};

// Exit codes of a stage.
enum Exit {
  EXIT_OK = 0,
  EXIT_FAILED = 1,      // a wrong result, an error of CUDA, or output that is lost
  EXIT_BAD_INPUT = 2,   // an option, size or path that cannot be served
  EXIT_NO_DEVICE = 77,  // no GPU, or one of the wrong compute capability
};

// Runs the variants as the command line says and returns the exit code. The stage's own variant is
// the last one. `configurations` are what a launcher of the stage chooses among, each forced: they
// are tested as the variants are, and run where --variant names them. Never throws. Defined for the
// formats of LADDER_FORMATS (number.h).
template <class In, class Out>
int run(const Stage& stage, const std::vector<Variant<In, Out>>& variants, int argc, char** argv,
        const std::vector<Variant<In, Out>>& configurations = {});

// What a stage is made of in one number format.
template <class In, class Out>
struct Contents {
  std::vector<Variant<In, Out>> variants, configurations;
};
// The same as run() for a stage that is there in two formats, with the same variants in both:
// --type says in which it runs. Defined for the pairs of LADDER_PAIRS (number.h).
template <class In, class Out, class OtherIn, class OtherOut>
int run_type(const Stage& stage, const Contents<In, Out>& contents,
             const Contents<OtherIn, OtherOut>& other, int argc, char** argv);

}  // namespace ladder::harness
