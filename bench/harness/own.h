#pragma once
// What harnesses of their own have in common: options, the check of each variant, the table and the
// JSON of a race, the exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line.h"
#include "device.h"
#include "is_short.h"
#include "program.h"
#include "statistics.h"
#ifdef LADDER_CPU_DEVICE
  #include "access_digest.h"
  #include "cpu_device/block.h"
  #include "findings.h"
#else
  #include "timer.h"
#endif

namespace ladder::harness {

struct OwnOptions {
  std::string data, json;             // a name; a file, or ""
  std::vector<std::string> variants;  // in the order of the command line; empty for all
  std::optional<int> iterations;
  uint64_t seed = 1;
  int device = 0;
  bool check_alone = false, all_shapes = false, list = false, digest = false;
};

// `data`: the kinds there are, the usual one first.
template <class Variant>
void add_own_options(CLI::App& app, OwnOptions& o, const std::vector<Variant>& variants,
                     const std::vector<std::string>& data, const std::string& about_data) {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(variant.name);
  o.data = data.front();
  app.add_option("--data", o.data, about_data)->check(CLI::IsMember(data))->capture_default_str();
  app.add_option("--variant", o.variants, "these alone")->check(CLI::IsMember(names));
  app.add_flag("--all-shapes", o.all_shapes, "check shapes and data of every kind instead");
  app.add_flag("--list", o.list, "print the variants' names and end");
#ifdef LADDER_CPU_DEVICE
  app.add_flag("--digest", o.digest, "numbers for all accesses, in the JSON");
#else
  app.add_flag("--check", o.check_alone, "check, and do not time");
  app.add_option("--iterations", o.iterations, "timed launches of each variant")
      ->check(CLI::Range(1, 1 << 20));
#endif
  add_output_file(app, "--json", o.json, "also write the results to this file");
  add_seed_and_device(app, o.seed, o.device);
}

// Those that the command line names.
template <class Variant>
std::vector<Variant> wanted(const std::vector<Variant>& all, const OwnOptions& o) {
  std::vector<Variant> some;
  for (const Variant& variant : all)
    if (o.variants.empty() || std::count(o.variants.begin(), o.variants.end(), variant.name) > 0)
      some.push_back(variant);
  return some;
}

struct Checked {
  std::string name;                   // the variant's
  std::string wrong;                  // "" or what is wrong with the result
  std::vector<std::string> findings;  // of the CPU device
  nlohmann::ordered_json digest{};    // with --digest
  bool ok() const { return wrong.empty() && findings.empty(); }
  std::string text() const { return wrong.empty() && !ok() ? findings.front() : wrong; }
};
// What the comparison said of the run that has just ended.
inline Checked checked(const std::string& name, const std::string& wrong) {
  Checked result{name, wrong, {}, {}};
#ifdef LADDER_CPU_DEVICE
  result.findings = finding_texts();
  if (cpu_device::settings().digest) result.digest = to_json(access_digest());
#endif
  return result;
}

// What each variant makes of the problem.
template <class Case, class Variant>
std::vector<Checked> check_each(Case& problem, const std::vector<Variant>& variants,
                                cudaStream_t stream) {
  std::vector<Checked> results;
  for (const Variant& variant : variants)
    results.push_back(checked(variant.name, problem.check(variant, stream)));
  return results;
}
// Throws std::runtime_error that names the first variant with a wrong result or a finding, and
// where that was.
inline void require_ok(const std::vector<Checked>& variants, const std::string& where = "") {
  for (const Checked& variant : variants)
    if (!variant.ok())
      throw std::runtime_error(fmt::format("{}{}: {}", variant.name, where, variant.text()));
}

// A column of the table, made of a variant's time.
struct Column {
  std::string heading, key;                    // in the table; in the JSON
  int digits;                                  // behind the point
  std::function<double(const Timing&)> value;  // in what the heading says
};

// Prints a line for each variant, and returns them for the JSON. `times` are empty where none were
// taken.
inline nlohmann::ordered_json print_variants(const std::vector<Checked>& variants,
                                             const std::vector<Timing>& times,
                                             const std::vector<Column>& columns) {
  size_t width = std::string("variant").size();
  for (const Checked& variant : variants) width = std::max(width, variant.name.size());
  fmt::print("  {:<{}}  {:<5}", "variant", width, "check");
  if (!times.empty()) {
    fmt::print("  {:>10}  {:>19}  {:>7}", "median, ms", "p10-p90, ms", "samples");
    for (const Column& column : columns) fmt::print("  {:>10}", column.heading);
  }
  fmt::print("\n");
  auto json = nlohmann::ordered_json::array();
  for (size_t i = 0; i < variants.size(); ++i) {
    const Checked& variant = variants[i];
    fmt::print("  {:<{}}  {:<5}", variant.name, width, variant.ok() ? "ok" : "WRONG");
    nlohmann::ordered_json entry{{"name", variant.name},
                                 {"check", {{"ok", variant.wrong.empty()}}},
                                 {"findings", variant.findings}};
    if (!variant.digest.is_null()) entry["digest"] = variant.digest;
    if (!times.empty()) {
      const Timing& t = times[i];
      fmt::print("  {:>10.4f}  {:>19}  {:>7}", t.median, fmt::format("{:.4f}-{:.4f}", t.p10, t.p90),
                 t.samples);
      entry["ms"] = t.median, entry["p10"] = t.p10, entry["p90"] = t.p90;
      entry["samples"] = t.samples;
      for (const Column& column : columns) {
        const double value = column.value(t);
        fmt::print("  {:>10.{}f}", value, column.digits);
        entry[column.key] = value;
      }
    }
    fmt::print("\n");
    json.push_back(entry);
  }
  return json;
}

// Prints the time of a copy, which reads and writes `bytes` in all, and adds it to the JSON.
inline void add_copy(nlohmann::ordered_json& json, const std::string& what, const Timing& t,
                     double bytes) {
  const double gbytes = bytes / (t.median * 1e6);
  fmt::print("  a copy of {}: {:.4f} ms, {:.1f} GB/s\n", what, t.median, gbytes);
  json["copy"] = {{"ms", t.median}, {"samples", t.samples}, {"gbytes_per_s", gbytes}};
}

// Writes the JSON where that is asked for. Then requires that the variants are right.
inline void finish(const OwnOptions& o, const nlohmann::ordered_json& json,
                   const std::vector<Checked>& variants) {
  if (!o.json.empty()) write_whole(o.json, json.dump(2) + "\n");
  require_ok(variants);
}

// Where a stage runs, to the end of the program. Throws NoDevice.
struct Machine {
  std::string name = "the CPU device";
  double l2_bytes = 0;  // 0 where nothing is timed
  cudaStream_t stream = nullptr;
};
inline Machine machine(const OwnOptions& o) {
  Machine machine;
#ifdef LADDER_CPU_DEVICE
  cpu_device::settings().digest = o.digest;
  if (o.digest) cpu_device::settings().os_threads = 1;
#else
  const Device gpu = select_device(o.device, 90, /*no_other*/ true);
  machine.name = gpu.name;
  if (!o.check_alone) machine.l2_bytes = static_cast<double>(gpu.l2_bytes);
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&machine.stream, cudaStreamNonBlocking));
#endif
  return machine;
}

// Sets of operands with which none is in L2 when its turn comes again; one where nothing is timed.
inline int sets_beyond_l2(double bytes_per_set, double l2_bytes) {
  constexpr double MOST_SETS = 64;
  return static_cast<int>(std::min(MOST_SETS, 1 + 2.0 * l2_bytes / bytes_per_set));
}

// A program of a stage. parse() returns the options, or none where there is nothing to do. Of the
// variants that they name, check_all_shapes(variants, seed, stream) returns how many checks were
// right, and run(options, variants, machine) does all else. Returns the exit code.
template <class Variant, class Parse, class CheckAllShapes, class Run>
int run_own(const char* stage, const std::vector<Variant>& all, const Parse& parse,
            const CheckAllShapes& check_all_shapes, const Run& run) {
  return run_program(stage, [&] {
    try {
      const auto options = parse();
      if (!options) return;
      if (options->list) {
        for (const Variant& variant : all) fmt::print("{}\n", variant.name);
        return;
      }
      const Machine on = machine(*options);
      const std::vector<Variant> variants = wanted(all, *options);
      if (options->all_shapes)
        fmt::print("{} checked, all right\n", check_all_shapes(variants, options->seed, on.stream));
      else
        run(*options, variants, on);
    } catch (const std::invalid_argument& error) {  // a launcher cannot serve this shape or device
      throw UsageError(error.what());
    }
  });
}

}  // namespace ladder::harness
