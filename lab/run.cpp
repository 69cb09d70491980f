// run() of bench/harness/run.cpp, for a page: sizes in, out the report of --json, and the trace of
// --trace into the one file that a page keeps. Options that need a terminal are not there.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "harness/execute.h"
#include "harness/number.h"

namespace ladder::harness {

void progress(const std::string&) {}

// argv: the program, M, N, K, and a variant; without it all of them.
template <class In, class Out>
int run(const Stage& stage, const std::vector<Variant<In, Out>>& all, int argc, char** argv,
        const std::vector<Variant<In, Out>>&) {
  if (argc != 4 && argc != 5) return EXIT_BAD_INPUT;
  std::vector<Variant<In, Out>> variants;
  std::copy_if(all.begin(), all.end(), std::back_inserter(variants),
               [&](const auto& variant) { return argc == 4 || variant.name == argv[4]; });
  Options options{};
  options.m = std::atoi(argv[1]);
  options.n = std::atoi(argv[2]);
  options.k = std::atoi(argv[3]);
  options.trace = "/trace";
  const Report report = execute(stage, variants, options, stage.epilogue.value_or(EpilogueChoice{}),
                                USUAL_LAYOUT<In>);
  std::fputs(to_json(report).c_str(), stdout);
  std::FILE* const file = std::fopen(options.trace.c_str(), "w");
  std::fputs(to_trace(report).c_str(), file);
  std::fclose(file);
  for (const VariantReport& variant : report.variants)
    if (!variant.ok()) return EXIT_FAILED;
  return EXIT_OK;
}

#define INSTANTIATE(In, Out, Accumulate)                                            \
  template int run(const Stage&, const std::vector<Variant<In, Out>>&, int, char**, \
                   const std::vector<Variant<In, Out>>&);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
