#include "options.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "command_line.h"

namespace ladder::harness {
namespace {

// Parses all of `text` as an integer from `low` to `high`; otherwise says what was wrong with it.
template <class Int>
std::string parse_integer(const std::string& text, Int low, Int high, Int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && value >= low && value <= high) return "";
  return fmt::format("'{}' is not an integer from {} to {}", text, low, high);
}

// An option with one integer value. CLI11 would accept more spellings and explain fewer errors.
template <class Int, class Store>
CLI::Option* add_integer(CLI::App& app, const std::string& name, Int low, Int high, Store store,
                         const std::string& help) {
  const auto parse = [=](const CLI::results_t& texts) {
    Int value{};
    const std::string error = parse_integer(texts.back(), low, high, value);
    if (!error.empty()) throw CLI::ValidationError(name, error);
    store(value);
    return true;
  };
  return app.add_option(name, parse, help)->type_name("INT")->expected(1)->take_last();
}

// An option whose value is one of `names`; `store` gets its number.
template <class Store>
CLI::Option* add_choice(CLI::App& app, const std::string& option,
                        const std::vector<std::string>& names, Store store,
                        const std::string& help) {
  const auto parse = [=](const CLI::results_t& texts) {
    const auto found = std::find(names.begin(), names.end(), texts.back());
    if (found == names.end())
      throw CLI::ValidationError(
          option, fmt::format("'{}' is none of {}", texts.back(), fmt::join(names, ", ")));
    store(static_cast<size_t>(found - names.begin()));
    return true;
  };
  return app.add_option(option, parse, help)
      ->type_name(fmt::format("{}", fmt::join(names, "|")))
      ->expected(1)
      ->take_last();
}

// An option with one number.
CLI::Option* add_number(CLI::App& app, const std::string& name,
                        const std::function<void(float)>& store, const std::string& help) {
  const auto parse = [=](const CLI::results_t& texts) {
    const std::string& text = texts.back();
    char* end = nullptr;
    const float value = std::strtof(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value))
      throw CLI::ValidationError(name, fmt::format("'{}' is not a number", text));
    store(value);
    return true;
  };
  return app.add_option(name, parse, help)->type_name("NUMBER")->expected(1)->take_last();
}

// Several products of one N and K. `batch` is what make_batch()
// wants, when all is parsed.
void add_groups(CLI::App& app, Options& o, int& batch, CLI::Option* m, CLI::Option* size) {
  const auto parse = [&o](const CLI::results_t& texts) {
    o.groups = parse_groups(texts.back());
    return true;
  };
  auto* groups = app.add_option("--groups", parse,
                                "rows of A and C of several products, with commas: M is their sum, "
                                "and each has a B of its own; for the stages that take groups")
                     ->type_name("INT,INT,...")
                     ->expected(1)
                     ->take_last()
                     ->excludes(m)
                     ->excludes(size);
  add_integer<int>(
      app, "--batch", 1, LARGEST_SIZE, [&batch](int v) { batch = v; },
      "so many groups of M rows each")
      ->excludes(groups);
}

// Throws UsageError.
void make_batch(Options& o, int batch) {
  if (batch > 0) {
    if (batch > LARGEST_SIZE / o.m)
      throw UsageError(
          fmt::format("--batch: {} times {} rows are more than {}", batch, o.m, LARGEST_SIZE));
    o.groups.assign(static_cast<size_t>(batch), o.m);
    o.m *= batch;
  } else if (!o.groups.empty()) {
    o.m = std::accumulate(o.groups.begin(), o.groups.end(), 0);
  }
  if (o.groups.size() > static_cast<size_t>(LARGEST_SIZE / o.k))
    throw UsageError(fmt::format("{} groups: the B of all have more than {} rows", o.groups.size(),
                                 LARGEST_SIZE));
}

// What is done with the product. Any of these options stands for the whole: what is not named is
// left out.
void add_epilogue(CLI::App& app, std::optional<EpilogueChoice>& epilogue) {
  const auto chosen = [&epilogue]() -> EpilogueChoice& {
    if (!epilogue) epilogue.emplace();
    return *epilogue;
  };
  add_number(
      app, "--alpha", [=](float v) { chosen().alpha = v; }, "times the product [1]");
  add_number(
      app, "--beta", [=](float v) { chosen().beta = v; },
      "times a matrix like C, added before the activation [0]");
  app.add_flag_callback(
      "--bias", [=] { chosen().bias = true; }, "add a number a column before the activation");
  app.add_flag_callback(
      "--residual", [=] { chosen().residual = true; }, "add a matrix like C behind the activation");
  add_integer<int>(
      app, "--zero-point", -128, 127, [=](int v) { chosen().zero_point = v; },
      "of results of 8 bits, which are round(alpha * A * B) + this; alpha is about "
      "1 / (128 sqrt(K)) where none of these options is given [0]");
  add_choice(
      app, "--scale", {std::begin(SCALE_NAMES), std::end(SCALE_NAMES)},
      [=](size_t choice) { chosen().scale = static_cast<Scale>(choice); },
      "multiply the product by a number a row, or a column [none]");
  add_choice(
      app, "--activation", {std::begin(ACTIVATION_NAMES), std::end(ACTIVATION_NAMES)},
      [=](size_t choice) { chosen().activation = static_cast<Activation>(choice); },
      "gelu is the one with tanh; the stage with an epilogue has a bias and gelu where none of "
      "these options is given, and relu where results must be equal [none]");
}

// Where none is asked for, all variants; with `everything` all configurations, too.
void keep_known_variants(std::vector<std::string>& wanted, const std::vector<std::string>& variants,
                         const std::vector<std::string>& configurations, bool everything) {
  std::vector<std::string> all = variants;
  if (everything || !wanted.empty())
    all.insert(all.end(), configurations.begin(), configurations.end());
  for (const std::string& name : wanted)
    if (std::find(all.begin(), all.end(), name) == all.end())
      throw UsageError(fmt::format("--variant: no variant '{}'; this stage has: {}", name,
                                   fmt::join(all, ", ")));
  std::vector<std::string> ordered;
  for (const std::string& name : all)
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end())
      ordered.push_back(name);
  wanted = ordered;
}

}  // namespace

std::vector<int> parse_groups(const std::string& text) {
  std::vector<int> groups;
  int64_t sum = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int rows = 0;
    const std::string error = parse_integer(text.substr(begin, end - begin), 0, LARGEST_SIZE, rows);
    if (!error.empty()) throw UsageError("rows of groups: " + error);
    groups.push_back(rows);
    sum += rows;
    begin = end + 1;
  }
  if (sum < 1 || sum > LARGEST_SIZE)
    throw UsageError(
        fmt::format("rows of groups: {} together, which is not from 1 to {}", sum, LARGEST_SIZE));
  return groups;
}

std::optional<Options> parse_options(const std::string& stage,
                                     const std::vector<std::string>& variants, Target target,
                                     int argc, const char* const* argv,
                                     const std::vector<std::string>& configurations,
                                     const std::vector<std::string>& types) {
  const bool gpu = target == Target::GPU;
  Options o;
  o.type = types.front();
  o.m = o.n = o.k = gpu ? 4096 : 256;
  CLI::App app(
      "C[M,N] = A[M,K] * B[K,N], row-major: each variant of this stage is checked against "
      "cuBLAS and timed beside it.\nVariants: " +
          fmt::format("{}", fmt::join(variants, ", ")),
      stage);
  app.set_version_flag("--version", "gemm-ladder " GEMM_LADDER_VERSION);
  app.footer(
      gpu ? "Exit codes: 0 all right; 1 a wrong result, a CUDA error or output that is lost; 2 bad "
            "input; 77 no usable GPU.\nUnder ncu, or with --profile: ncu --set full ./" +
                stage
          : "Exit codes: 0 all right; 1 a wrong result, output that is lost or a finding (a race, "
            "an access out of bounds, ...); 2 bad input.");

  const auto size = [&](const std::string& name, auto store, const std::string& help) {
    return add_integer<int>(app, name, 1, LARGEST_SIZE, store, help);
  };
  const std::string default_size = fmt::format(" [{}]", o.m);
  auto* m = size(
      "--m", [&](int v) { o.m = v; }, "rows of A and C" + default_size);
  auto* n = size(
      "--n", [&](int v) { o.n = v; }, "columns of B and C" + default_size);
  auto* k = size(
      "--k", [&](int v) { o.k = v; }, "columns of A, rows of B" + default_size);
  auto* all = size(
      "--size", [&](int v) { o.m = o.n = o.k = v; }, "M, N and K at once");
  all->excludes(m)->excludes(n)->excludes(k);
  int batch = 0;
  add_groups(app, o, batch, m, all);
  app.add_option("--variant", o.variants,
                 "run these only" + (configurations.empty()
                                         ? ""
                                         : fmt::format("; also what the launcher chooses among: {}",
                                                       fmt::join(configurations, ", "))))
      ->type_name("NAME");
  add_integer<uint64_t>(
      app, "--seed", 0, UINT64_MAX, [&](uint64_t v) { o.seed = v; }, "of the random data [1]");
  app.add_flag("--check,!--no-check", o.check, "compare every element with the reference [on]");
  auto* data = add_choice(
      app, "--data", {std::begin(DATA_NAMES), std::end(DATA_NAMES)},
      [&](size_t choice) { o.data = static_cast<Data>(choice); },
      "what A and B are made of: all but random are checked for equality, and a check of zeros or "
      "of one constant proves little [random]");
  auto* exact = app.add_flag_callback(
      "--exact", [&] { o.data = Data::EXACT; },
      "the same as --data exact: small integers, equality as the check");
  exact->excludes(data);
  add_choice(
      app, "--type", types, [&](size_t choice) { o.type = types[choice]; },
      fmt::format("of A and B; int32 is of C, whose A and B are int8 [{}]", o.type));
  add_choice(
      app, "--layout", {std::begin(LAYOUT_NAMES), std::end(LAYOUT_NAMES)},
      [&](size_t choice) { o.layout = LAYOUTS[choice]; },
      "how A and B are stored: N by rows, T transposed, A as K x M, B as N x K; a stage that does "
      "not take any takes one [NN; of 8 bits NT]");
  add_epilogue(app, o.epilogue);
  add_output_file(app, "--json", o.json, "also write the report to this file");
  app.add_flag("--list", o.list, "print the variants and stop");
  if (gpu) {
    add_integer<int>(
        app, "--warmup", 1, 1000000, [&](int v) { o.warmup = v; },
        "launches before the timed ones [3, and at least 0.1 s]");
    add_integer<int>(
        app, "--iterations", 1, 1000000, [&](int v) { o.iterations = v; },
        "timed launches [about half a second's worth, at least 20]");
    app.add_flag("--sustained", o.sustained,
                 "also time each kernel without rests, at the power limit [fp16 stages: on]; asked "
                 "for, sample power, clock and what limits it, too [off]");
    add_choice(
        app, "--reference", {"cublas", "best"},
        [&](size_t choice) { o.reference = choice == 0 ? Reference::CUBLAS : Reference::BEST; },
        "best: time the fastest of cublasLt's algorithms, too [the last stages: best, else "
        "cublas]");
    auto* profile = app.add_flag(
        "--profile", o.profile,
        "launch each variant once: no check, no cuBLAS, no timing (automatic under ncu)");
    app.add_flag("--prove", o.prove,
                 "no cuBLAS, no timing: as many sets of wide data as prove that C is the product, "
                 "which the host computes; what the launcher chooses among, too")
        ->excludes(data)
        ->excludes(exact)
        ->excludes(profile);
    add_integer<int>(
        app, "--device", 0, 1023, [&](int v) { o.device = v; }, "CUDA device number [0]");
  } else {
    app.add_flag("--memory,!--no-memory", o.memory, "count memory accesses by source line [on]");
    app.add_flag("--digest", o.digest,
                 "blocks run one after the other, and --json has a number for each line's accesses "
                 "and one for all in their order, which other data does not change");
    add_output_file(app, "--trace", o.trace,
                    "write the first requests of a warp at each source line to this file");
  }

  if (!parse_arguments<false>(app, argc, argv)) return std::nullopt;
  if (o.prove) o.data = Data::WIDE;
  keep_known_variants(o.variants, variants, configurations, o.prove);
  make_batch(o, batch);
  const char* const untimed = o.profile ? "--profile" : "--prove";
  if ((o.profile || o.prove) && o.sustained)
    throw UsageError(
        fmt::format("--sustained measures time and {} does not; use one of them", untimed));
  if ((o.profile || o.prove) && o.reference)
    throw UsageError(
        fmt::format("--reference is for times and {} takes none; use one of them", untimed));
  if (o.prove && !o.check) throw UsageError("--prove is nothing but a check; leave --no-check out");
  if (!o.trace.empty() && !o.memory)
    throw UsageError("--trace needs the accesses that --no-memory does not look at");
  if (o.digest && !o.memory)
    throw UsageError("--digest needs the accesses that --no-memory does not look at");
  return o;
}

}  // namespace ladder::harness
