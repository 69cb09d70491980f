// The order of a run: options, then what execute() finds out, then the report.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <optional>
#include <type_traits>

#include "device.h"
#include "execute.h"
#include "number.h"
#include "output.h"
#include "random.h"

namespace ladder::harness {

static_assert(LARGEST_SIZE == MAX_DIMENSION);

void progress(const std::string& what) {
  static const bool terminal = isatty(STDERR_FILENO);
  if (terminal) fmt::print(stderr, "\r\033[K{}", what);
}

namespace {

// What the options say, or the stage's own. Throws UsageError for a stage that has none.
template <class Out>
EpilogueChoice epilogue_of(const Stage& stage, const Options& options) {
  if (std::is_same_v<Out, int8_t>) return options.epilogue.value_or(requantisation_for(options.k));
  if (options.epilogue && options.epilogue->zero_point != 0)
    throw UsageError("--zero-point: it is for results of 8 bits");
  if (options.epilogue && !options.epilogue->is_product_alone() && !stage.epilogue)
    throw UsageError("this stage has no epilogue, it computes A * B alone; asked for was " +
                     options.epilogue->formula());
  EpilogueChoice choice = options.epilogue.value_or(stage.epilogue.value_or(EpilogueChoice{}));
  if (!options.epilogue && stage.epilogue && is_exact(options.data))
    choice.activation = Activation::RELU;
  return choice;
}

// The same of the layout.
template <class In>
Layout layout_of(const Stage& stage, const Options& options) {
  const Layout layout = options.layout.value_or(USUAL_LAYOUT<In>);
  if (!stage.any_layout && layout != USUAL_LAYOUT<In>)
    throw UsageError(fmt::format("--layout: this stage takes {} alone; asked for was {}",
                                 name(USUAL_LAYOUT<In>), name(layout)));
  return layout;
}

// What the command line says to a stage in these formats. Nothing when that is served already.
template <class In, class Out>
std::optional<Options> options_of(const Stage& stage, const Contents<In, Out>& contents,
                                  const std::vector<std::string>& types, int argc, char** argv) {
  const auto names = [](const std::vector<Variant<In, Out>>& of) {
    std::vector<std::string> names;
    for (const auto& variant : of) names.push_back(variant.name);
    return names;
  };
  return parse_options(stage.name, names(contents.variants), TARGET, argc, argv,
                       names(contents.configurations), types);
}

template <class In, class Out>
int run_stage(const Stage& stage, const Contents<In, Out>& contents,
              const std::optional<Options>& options) {
  if (!options) return EXIT_OK;
  if (const int most = exact_max_k(options->data, stage.sums);
      is_exact(options->data) && options->k > most)
    throw UsageError(fmt::format("--data {}: K is {}, but sums stay exact only up to K = {}",
                                 name(options->data), options->k, most));
  const EpilogueChoice epilogue = epilogue_of<Out>(stage, *options);
  if (is_exact(options->data) && !std::is_integral_v<Out>) require_exact(epilogue, options->k);
  if (options->data == Data::WIDE && !epilogue.is_product_alone())
    throw UsageError("--data wide: it is for the product alone, as with --alpha 1; asked for was " +
                     epilogue.formula());
  const Layout layout = layout_of<In>(stage, *options);
  if (!options->groups.empty() && !stage.groups)
    throw UsageError(fmt::format("this stage computes one product; asked for were {} groups",
                                 options->groups.size()));
  if (!options->json.empty()) require_writable("--json", options->json);
  if (!options->trace.empty()) require_writable("--trace", options->trace);
  if (!options->json.empty() && !options->trace.empty() &&
      is_same_file(options->json, options->trace))
    throw UsageError(fmt::format("--json and --trace: both are {}", options->trace));
  if (options->list) {
    fmt::print("{}\n", fmt::join(options->variants, "\n"));
    return EXIT_OK;
  }

  std::vector<Variant<In, Out>> wanted;
  std::vector<Variant<In, Out>> all = contents.variants;
  all.insert(all.end(), contents.configurations.begin(), contents.configurations.end());
  for (const auto& variant : all)
    if (std::count(options->variants.begin(), options->variants.end(), variant.name) > 0)
      wanted.push_back(variant);
  const Report report = execute(stage, wanted, *options, epilogue, layout);
  progress("");

  std::fputs(to_table(report).c_str(), stdout);  // the files are written even if this cannot be
  if (!options->json.empty()) write_whole(options->json, to_json(report));
  if (!options->trace.empty()) write_whole(options->trace, to_trace(report));
  const bool ok = std::all_of(report.variants.begin(), report.variants.end(),
                              [](const VariantReport& v) { return v.ok(); });
  return ok ? EXIT_OK : EXIT_FAILED;
}

// Calls body() and returns its exit code, or that of what it throws, which goes to stderr.
template <class Body>
int report_errors(const Stage& stage, Body body) {
  const auto fail = [&](const std::string& what, Exit code) {
    progress("");
    fmt::print(stderr, "{}: {}\n", stage.name, what);
    return code;
  };
  occupy_standard_streams();
  try {
    const int code = body();
    require_printed();
    return code;
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

}  // namespace

template <class In, class Out>
int run(const Stage& stage, const std::vector<Variant<In, Out>>& variants, int argc, char** argv,
        const std::vector<Variant<In, Out>>& configurations) {
  return report_errors(stage, [&] {
    const Contents<In, Out> contents{variants, configurations};
    return run_stage(stage, contents,
                     options_of(stage, contents, {TYPE_NAME<In, Out>}, argc, argv));
  });
}

template <class In, class Out, class OtherIn, class OtherOut>
int run_type(const Stage& stage, const Contents<In, Out>& contents,
             const Contents<OtherIn, OtherOut>& other, int argc, char** argv) {
  return report_errors(stage, [&] {
    const std::string name = TYPE_NAME<OtherIn, OtherOut>;
    const std::optional<Options> options =
        options_of(stage, contents, {TYPE_NAME<In, Out>, name}, argc, argv);
    return options && options->type == name ? run_stage(stage, other, options)
                                            : run_stage(stage, contents, options);
  });
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
