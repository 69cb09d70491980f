#pragma once
// The command line of a stage.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "data.h"
#include "epilogue.h"
#include "layout.h"

namespace ladder::harness {

// Whatever the user can put right. what() is one line: what is wrong and what would be right.
// Control characters of what the user wrote are question marks in it, as `ls` shows them.
struct UsageError : std::runtime_error {
  explicit UsageError(std::string what) : std::runtime_error(one_line(std::move(what))) {}

 private:
  static std::string one_line(std::string text) {
    const auto is_control = [](unsigned char c) { return std::iscntrl(c) != 0; };
    std::replace_if(text.begin(), text.end(), is_control, '?');
    return text;
  }
};

constexpr int LARGEST_SIZE = INT32_MAX - 1024;  // what the kernels take

enum class Target { GPU, CPU };

// What a stage is timed beside: cuBLAS's own choice, or the fastest of cublasLt's algorithms as
// well.
enum class Reference { CUBLAS, BEST };

struct Options {
  int m, n, k;
  std::vector<std::string> variants;  // in the stage's order
  uint64_t seed = 1;
  int warmup = 3;                      // launches of stage and cuBLAS before the timed ones
  std::optional<int> iterations;       // timed launches; chosen by time when absent
  std::optional<Reference> reference;  // the stage's when absent
  bool check = true;
  Data data = Data::UNIFORM;
  std::optional<EpilogueChoice> epilogue;  // the stage's when absent
  std::optional<Layout> layout;            // the stage's when absent
  std::vector<int> groups;                 // rows of each, m together; none for one product
  std::string type;                        // of A and B: one of those that the stage has
  bool sustained = false;  // the stages of tensor cores do it anyway, but do not sample power
  bool profile = false;
  bool prove = false;   // GPU: as many sets of wide data as prove the product, and no times
  bool memory = true;   // CPU: report memory accesses
  bool digest = false;  // CPU: of all accesses, in the report
  std::string json;     // path, empty for none
  std::string trace;    // CPU: path for requests with their offsets, empty for none
  bool list = false;
  int device = 0;
};

// Rows of groups with commas between them, "64,0,128". Throws UsageError.
std::vector<int> parse_groups(const std::string& text);

// Parses argv[1..]; a target has only the options that mean something there. Returns nothing when
// --help or --version has been served (on stdout). Throws UsageError.
// `configurations` can be asked for with --variant as well, and each of `types` with --type; the
// first is what is taken else.
std::optional<Options> parse_options(const std::string& stage,
                                     const std::vector<std::string>& variants, Target target,
                                     int argc, const char* const* argv,
                                     const std::vector<std::string>& configurations = {},
                                     const std::vector<std::string>& types = {"fp32"});

}  // namespace ladder::harness
