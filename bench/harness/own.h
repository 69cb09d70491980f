#pragma once
// What harnesses of their own have in common: options, the check of each variant, the table and the
// JSON of a race, the exit code.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "device.h"
#include "is_short.h"
#include "program.h"
#include "report.h"
#include "statistics.h"
#ifndef LADDER_CPU_DEVICE
  #include "timer.h"
#endif

namespace CLI {
class App;
}

namespace ladder::harness {

struct OwnOptions {
  std::string data, json;             // a name; a file, or ""
  std::vector<std::string> variants;  // in the order of the command line; empty for all
  std::optional<int> iterations;
  uint64_t seed = 1;
  int device = 0;
  bool check_alone = false, all_shapes = false, list = false, digest = false;
};

// The options of a program. Those of OwnOptions all have.
class OwnCommandLine {
 public:
  OwnCommandLine(const char* about, const char* stage);
  ~OwnCommandLine();

  // `to` is what holds where the option is not given; --help shows it, unless `shows` is false.
  void number(const std::string& name, int& to, int least, const std::string& what,
              bool shows = true);
  void one_of(const std::string& name, std::string& to, const std::vector<std::string>& values,
              const std::string& what = "");
  void flag(const std::string& name, bool& to, const std::string& what);

  // `data`: the kinds there are, the usual one first. False where there is nothing to do but what
  // is done: --help. Throws UsageError.
  bool parse(OwnOptions& o, const std::vector<std::string>& variants,
             const std::vector<std::string>& data, const std::string& about_data, int argc,
             const char* const* argv);
  bool is_given(const std::string& name) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

template <class Variant>
std::vector<std::string> names(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(variant.name);
  return names;
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
  std::string name;   // the variant's
  std::string wrong;  // "" or what is wrong with the result
  // Of the CPU device; the digest with --digest alone.
  std::vector<std::string> findings;
  std::optional<AccessDigest> digest;
  bool ok() const { return wrong.empty() && findings.empty(); }
  std::string text() const { return wrong.empty() && !ok() ? findings.front() : wrong; }
};
// What the comparison said of the run that has just ended.
Checked checked(const std::string& name, const std::string& wrong);

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
void require_ok(const std::vector<Checked>& variants, const std::string& where = "");

// Where a stage runs, to the end of the program. Throws NoDevice.
struct Machine {
  std::string name = "the CPU device";
  double l2_bytes = 0;  // 0 where nothing is timed
  cudaStream_t stream = nullptr;
};
Machine machine(const OwnOptions& o);

// What a report says of the problem, beside its data and the seed.
struct Field {
  std::string key;
  std::variant<int, bool, std::string> value;
};
// A column of the table, made of a variant's time.
struct Column {
  std::string heading, key;                    // in the table; in the JSON
  int digits;                                  // behind the point
  std::function<double(const Timing&)> value;  // in what the heading says
};
// What was timed beside the variants, and how many bytes it moved, or 0.
struct Beside {
  std::string what, key;
  Timing time;
  double bytes = 0;
};

// Prints a line for each variant, of which `times` are empty where none were taken, and for what
// was timed beside them; writes the JSON where that is asked for. Then requires that the variants
// are right.
void report(const std::string& stage, const Machine& machine, const OwnOptions& o,
            const std::vector<Field>& problem, const std::vector<Checked>& variants,
            const std::vector<Timing>& times, const std::vector<Column>& columns,
            const std::vector<Beside>& beside = {});

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
      if (!options->json.empty()) require_writable("--json", options->json);
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
