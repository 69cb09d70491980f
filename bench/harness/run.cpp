// The order of a run: options, then what execute() finds out, then the report.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <optional>

#include "device.h"
#include "execute.h"
#include "number.h"
#include "random.h"

namespace ladder::harness {

static_assert(LARGEST_SIZE == MAX_DIMENSION);

void progress(const std::string& what) {
  static const bool terminal = isatty(STDERR_FILENO);
  if (terminal) fmt::print(stderr, "\r\033[K{}", what);
}

namespace {

// What the options say, or the stage's own. Throws UsageError for a stage that has none.
EpilogueChoice epilogue_of(const Stage& stage, const Options& options) {
  if (options.epilogue && !options.epilogue->is_product_alone() && !stage.epilogue)
    throw UsageError("this stage has no epilogue, it computes A * B alone; asked for was " +
                     options.epilogue->formula());
  EpilogueChoice choice = options.epilogue.value_or(stage.epilogue.value_or(EpilogueChoice{}));
  if (!options.epilogue && stage.epilogue && is_exact(options.data))
    choice.activation = Activation::RELU;
  return choice;
}

template <class In, class Out>
int run_stage(const Stage& stage, const std::vector<Variant<In, Out>>& variants, int argc,
              char** argv, const std::vector<Variant<In, Out>>& configurations) {
  const auto names = [](const std::vector<Variant<In, Out>>& of) {
    std::vector<std::string> names;
    for (const auto& variant : of) names.push_back(variant.name);
    return names;
  };
  const std::optional<Options> options =
      parse_options(stage.name, names(variants), TARGET, argc, argv, names(configurations));
  if (!options) return EXIT_OK;
  if (options->list) {
    fmt::print("{}\n", fmt::join(options->variants, "\n"));
    return EXIT_OK;
  }
  if (const int most = exact_max_k(options->data, stage.sums);
      is_exact(options->data) && options->k > most)
    throw UsageError(fmt::format("--data {}: K is {}, but sums stay exact only up to K = {}",
                                 name(options->data), options->k, most));
  const EpilogueChoice epilogue = epilogue_of(stage, *options);
  if (is_exact(options->data)) require_exact(epilogue, options->k);
  if (!options->json.empty()) require_writable("--json", options->json);
  if (!options->trace.empty()) require_writable("--trace", options->trace);

  std::vector<Variant<In, Out>> wanted;
  std::vector<Variant<In, Out>> all = variants;
  all.insert(all.end(), configurations.begin(), configurations.end());
  for (const auto& variant : all)
    if (std::count(options->variants.begin(), options->variants.end(), variant.name) > 0)
      wanted.push_back(variant);
  const Report report = execute(stage, wanted, *options, epilogue);
  progress("");

  fmt::print("{}", to_table(report));
  if (!options->json.empty()) write_whole(options->json, to_json(report));
  if (!options->trace.empty()) write_whole(options->trace, to_trace(report));
  const bool ok = std::all_of(report.variants.begin(), report.variants.end(),
                              [](const VariantReport& v) { return v.ok(); });
  return ok ? EXIT_OK : EXIT_FAILED;
}

}  // namespace

template <class In, class Out>
int run(const Stage& stage, const std::vector<Variant<In, Out>>& variants, int argc, char** argv,
        const std::vector<Variant<In, Out>>& configurations) {
  const auto fail = [&](const std::string& what, Exit code) {
    progress("");
    fmt::print(stderr, "{}: {}\n", stage.name, what);
    return code;
  };
  try {
    return run_stage(stage, variants, argc, argv, configurations);
  } catch (const NoDevice& error) {
    return fail(fmt::format("{}; stages/cpu/{} runs on any machine", error.what(), stage.name),
                EXIT_NO_DEVICE);
  } catch (const UsageError& error) {
    return fail(error.what(), EXIT_BAD_INPUT);
  } catch (const std::invalid_argument& error) {  // a launcher cannot serve this shape or device
    return fail(error.what(), EXIT_BAD_INPUT);
  } catch (const std::bad_alloc&) {
    return fail("the host has too little memory for matrices of this size", EXIT_BAD_INPUT);
  } catch (const std::exception& error) {
    return fail(error.what(), EXIT_FAILED);
  }
}

#define INSTANTIATE(In, Out, Accumulate)                                            \
  template int run(const Stage&, const std::vector<Variant<In, Out>>&, int, char**, \
                   const std::vector<Variant<In, Out>>&);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
