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
  const EpilogueChoice epilogue = std::is_same_v<Out, int8_t>
                                      ? requantisation_for(options.k)
                                      : stage.epilogue.value_or(EpilogueChoice{});
  const Report report = execute(stage, variants, options, epilogue, USUAL_LAYOUT<In>);
  std::fputs(to_json(report).c_str(), stdout);
  std::FILE* const file = std::fopen(options.trace.c_str(), "w");
  std::fputs(to_trace(report).c_str(), file);
  std::fclose(file);
  for (const VariantReport& variant : report.variants)
    if (!variant.ok()) return EXIT_FAILED;
  return EXIT_OK;
}

// In the first of its types.
template <class In, class Out, class OtherIn, class OtherOut>
int run_type(const Stage& stage, const Contents<In, Out>& contents,
             const Contents<OtherIn, OtherOut>&, int argc, char** argv) {
  return run(stage, contents.variants, argc, argv, contents.configurations);
}

#define INSTANTIATE(In, Out, Accumulate)                                            \
  template int run(const Stage&, const std::vector<Variant<In, Out>>&, int, char**, \
                   const std::vector<Variant<In, Out>>&);
LADDER_FORMATS(INSTANTIATE)
#undef INSTANTIATE
#define INSTANTIATE(In, Out, OtherIn, OtherOut)                 \
  template int run_type(const Stage&, const Contents<In, Out>&, \
                        const Contents<OtherIn, OtherOut>&, int, char**);
LADDER_PAIRS(INSTANTIATE)

}  // namespace ladder::harness
