#include "run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "cudnn.h"
#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/program.h"
#include "harness/statistics.h"
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/block.h"
  #include "harness/findings.h"
#else
  #include "harness/timer.h"
#endif

namespace ladder::attention_bench {
namespace {

using harness::UsageError;

struct Options {
#ifdef LADDER_CPU_DEVICE
  Shape shape{1, 2, 0, 150, 200, 128};
#else
  Shape shape{4, 16, 0, 4096, 4096, 128};
#endif
  std::string data = "random", json;
  std::vector<std::string> variants;
  std::optional<int> iterations;
  uint64_t seed = 1;
  int device = 0;
  bool check_alone = false, all_shapes = false, list = false, copy = false, cudnn = false;
};

std::optional<Options> parse(const char* stage, const std::vector<Variant>& all, int argc,
                             char** argv) {
  Options o;
  CLI::App app("Attention, forward, in bf16: checked and, on a GPU, timed.", stage);
  const auto size = [&](const char* name, int& to, int least, const char* what) {
    return app.add_option(name, to, what)->check(CLI::Range(least, 1 << 24));
  };
  size("--batch", o.shape.batch, 1, "sequences")->capture_default_str();
  size("--heads", o.shape.heads, 1, "heads of queries")->capture_default_str();
  size("--kv-heads", o.shape.kv_heads, 1, "heads of keys and values; as many if left out");
  size("--queries", o.shape.queries, 0, "of a sequence")->capture_default_str();
  size("--keys", o.shape.keys, 0, "of a sequence; as many as queries if left out");
  size("--width", o.shape.width, 1, "of a head: 64, 128 or 256")->capture_default_str();
  app.add_flag("--causal", o.shape.causal, "a query does not see the keys behind it");
  app.add_option("--data", o.data, "random; or exact: weights are powers of two")
      ->check(CLI::IsMember({"random", "exact"}))
      ->capture_default_str();
  std::vector<std::string> names;
  for (const Variant& variant : all) names.push_back(variant.name);
  app.add_option("--variant", o.variants, "these alone")->check(CLI::IsMember(names));
  app.add_flag("--all-shapes", o.all_shapes, "check shapes and data of every kind instead");
  app.add_flag("--list", o.list, "print the variants' names and end");
#ifndef LADDER_CPU_DEVICE
  app.add_flag("--check", o.check_alone, "check, and do not time");
  app.add_flag("--copy", o.copy,
               "also time a copy of K, which moves as many bytes as K and V have");
  app.add_flag("--cudnn", o.cudnn, "also check and time cuDNN's; the build needs LADDER_CUDNN");
  app.add_option("--iterations", o.iterations, "timed launches of each variant")
      ->check(CLI::Range(1, 1 << 20));
#endif
  harness::add_output_file(app, "--json", o.json, "also write the results to this file");
  harness::add_seed_and_device(app, o.seed, o.device);
  if (!harness::parse_arguments(app, argc, argv)) return std::nullopt;
  if (o.shape.kv_heads == 0) o.shape.kv_heads = o.shape.heads;
  if (app.count("--keys") == 0 && app.count("--queries") > 0) o.shape.keys = o.shape.queries;
  if (o.variants.empty()) o.variants = names;
  const Shape& s = o.shape;
  if (double{1} * s.batch *
          std::max(s.heads * double{1} * s.queries, s.kv_heads * double{1} * s.keys) >
      INT_MAX / 2)
    throw UsageError("there are more rows than a matrix may have here");
  if (o.data == "exact" && s.keys > Case::EXACT_MAX_KEYS)
    throw UsageError(fmt::format("--data exact: sums stay exact only up to {} keys, not {}",
                                 Case::EXACT_MAX_KEYS, s.keys));
  if (!o.json.empty()) harness::require_writable("--json", o.json);
  return o;
}

std::string text(const Shape& s) {
  return fmt::format("batch {}, {} heads over {}, {} queries, {} keys, {} wide{}", s.batch, s.heads,
                     s.kv_heads, s.queries, s.keys, s.width, s.causal ? ", causal" : "");
}

// What is beyond it is compared with the device's fp32: in double it would take minutes.
constexpr double MOST_FLOP_ON_HOST = 1e9;

std::vector<Variant> wanted(const std::vector<Variant>& all, const Options& o) {
  std::vector<Variant> some;
  for (const Variant& variant : all)
    if (std::count(o.variants.begin(), o.variants.end(), variant.name) > 0) some.push_back(variant);
  return some;
}

#ifndef LADDER_CPU_DEVICE
size_t numbers_of_keys(const Shape& s) {
  return static_cast<size_t>(s.batch) * static_cast<size_t>(s.kv_heads) *
         static_cast<size_t>(s.keys) * static_cast<size_t>(s.width);
}
#endif

struct Checked {
  std::string wrong;                  // "" or what is wrong with O
  std::vector<std::string> findings;  // of the CPU device
  bool ok() const { return wrong.empty() && findings.empty(); }
  std::string text() const { return wrong.empty() && !ok() ? findings.front() : wrong; }
};

Checked check(Case& problem, const Variant& variant, cudaStream_t stream) {
  Checked result{problem.check(variant, stream), {}};
#ifdef LADDER_CPU_DEVICE
  result.findings = harness::finding_texts();
#endif
  return result;
}

// Whether what takes longest, and random data, are left to the slow tests.
bool is_short() {
  return std::getenv("LADDER_FEWEST_SHAPES") != nullptr;
}

// A shape of each kind: one, none, what fills tiles and what does not, fewer and more keys than
// queries, heads in groups, many pieces of keys; and, where there is a GPU, what the host does not
// compare.
std::vector<Shape> shapes() {
  std::vector<Shape> some;
  for (const int width : {64, 128, 256})
    for (const bool causal : {false, true}) {
      some.push_back({1, 1, 1, 1, 1, width, causal});
      some.push_back({1, 2, 1, 130, 70, width, causal});
      some.push_back({1, 1, 1, 70, 333, width, causal});
    }
  for (const bool causal : {false, true}) {
    some.push_back({1, 1, 1, 128, 256, 128, causal});
    some.push_back({2, 6, 2, 33, 65, 64, causal});
    some.push_back({2, 2, 2, 129, 129, 128, causal});
    some.push_back({1, 1, 1, 5, 0, 64, causal});
    some.push_back({1, 1, 1, 0, 5, 64, causal});
    some.push_back({1, 1, 1, 1, 1500, 64, causal});
    some.push_back({1, 1, 1, 300, 700, 64, causal});
#ifndef LADDER_CPU_DEVICE
    for (const int width : {64, 128, 256}) {
      some.push_back({2, 8, 2, 2048, 2048, width, causal});
      some.push_back({1, 6, 3, 1999, 3001, width, causal});
      some.push_back({5, 32, 8, 1, 4097, width, causal});
      some.push_back({1, 32, 8, 8, 9999, width, causal});
    }
#endif
  }
  some.push_back({2, 4, 2, 1, 200, 128, false});  // as in decoding
  some.push_back({1, 4, 1, 5, 150, 64, true});
  constexpr int64_t MANY_PAIRS = 20000;
  if (is_short())
    some.erase(std::remove_if(some.begin(), some.end(),
                              [](const Shape& s) {
                                return int64_t{s.heads} * s.queries * s.keys > MANY_PAIRS;
                              }),
               some.end());
  return some;
}

// On the CPU device the reference of large shapes is tried at small ones, where it is no slower.
Reference reference_for(const Shape& shape) {
#ifdef LADDER_CPU_DEVICE
  constexpr int MOST_QUERIES = 40;
  return shape.queries <= MOST_QUERIES ? Reference::DEVICE : Reference::HOST;
#else
  return Case::flop(shape) > MOST_FLOP_ON_HOST ? Reference::DEVICE : Reference::HOST;
#endif
}

void check_all_shapes(const std::vector<Variant>& variants, uint64_t seed, cudaStream_t stream) {
  int checked = 0;
  for (const Shape& shape : shapes())
    for (const harness::Data data : {harness::Data::EXACT, harness::Data::UNIFORM}) {
      if (data == harness::Data::UNIFORM && is_short()) continue;
#ifdef LADDER_CPU_DEVICE
      // Few for one kind of data: then small problems take several waves, and long ranges.
      cpu_device::settings().multiprocessors = data == harness::Data::EXACT ? 2 : 132;
#endif
      Case problem(shape, data, seed, reference_for(shape));
      for (const Variant& variant : variants) {
        const Checked result = check(problem, variant, stream);
        if (!result.ok())
          throw std::runtime_error(fmt::format("{}, {}, {} data: {}", variant.name, text(shape),
                                               harness::name(data), result.text()));
        ++checked;
      }
    }
  fmt::print("{} checked, all right\n", checked);
}

void run_variants(const char* stage, const std::vector<Variant>& all, const Options& o) {
  const harness::Data data = o.data == "exact" ? harness::Data::EXACT : harness::Data::UNIFORM;
  require_valid(Attention{o.shape.batch, o.shape.heads, o.shape.kv_heads, o.shape.queries,
                          o.shape.keys, o.shape.width, nullptr, nullptr, nullptr, nullptr});
  std::vector<Variant> variants = wanted(all, o);
  int sets = 1;
  cudaStream_t stream = nullptr;  // to the end of the program
#ifdef LADDER_CPU_DEVICE
  const std::string device = "the CPU device";
  cpu_device::settings().count = false;
#else
  const harness::Device gpu = harness::select_device(o.device, 90, /*no_other*/ true);
  const std::string device = gpu.name;
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (!o.check_alone) {
    constexpr double MOST_SETS = 64;
    sets = static_cast<int>(std::min(
        MOST_SETS, 1 + 2.0 * static_cast<double>(gpu.l2_bytes) / Case::bytes_per_set(o.shape)));
  }
#endif
  if (o.all_shapes) return check_all_shapes(variants, o.seed, stream);
  Case problem(o.shape, data, o.seed, reference_for(o.shape), sets);
#ifndef LADDER_CPU_DEVICE
  if (o.cudnn) variants.push_back(cudnn(problem.problem(0, stream)));
#endif

  std::vector<Checked> results;
  uint64_t workspace = 0;
  for (const Variant& variant : variants) {
    results.push_back(check(problem, variant, stream));
    if (variant.workspace_bytes)
      workspace = std::max(workspace, variant.workspace_bytes(problem.problem(0, stream)));
  }
  problem.make_workspace(workspace);

  std::vector<harness::Timing> times;
#ifndef LADDER_CPU_DEVICE
  if (!o.check_alone) {
    std::vector<harness::LaunchOn> launches;
    for (const Variant& variant : variants)
      launches.push_back([&](int set) { variant.attention(problem.problem(set, stream)); });
    const size_t numbers = numbers_of_keys(o.shape);
    harness::DeviceBuffer<bf16> copied(o.copy ? numbers : 0);
    if (o.copy)
      launches.push_back([&](int set) {
        LADDER_CUDA_CHECK(cudaMemcpyAsync(copied.get(), problem.problem(set, stream).K,
                                          numbers * sizeof(bf16), cudaMemcpyDeviceToDevice,
                                          stream));
      });
    constexpr int WARMUP = 3;
    times = harness::time_interleaved(launches, {sets, WARMUP, o.iterations}, stream);
  }
#endif

  fmt::print("{}: attention, bf16, {}, {} data, on {}\n", stage, text(o.shape), o.data, device);
  size_t width = std::string("variant").size();
  for (const Variant& variant : variants) width = std::max(width, variant.name.size());
  fmt::print("  {:<{}}  {:<5}", "variant", width, "check");
  if (!times.empty())
    fmt::print("  {:>10}  {:>19}  {:>7}  {:>8}  {:>8}{}", "median, ms", "p10-p90, ms", "samples",
               "TFLOP/s", "GB/s", o.cudnn ? "  % of cuDNN" : "");
  fmt::print("\n");
  nlohmann::ordered_json json{{"stage", stage},
                              {"device", device},
                              {"batch", o.shape.batch},
                              {"heads", o.shape.heads},
                              {"kv_heads", o.shape.kv_heads},
                              {"queries", o.shape.queries},
                              {"keys", o.shape.keys},
                              {"width", o.shape.width},
                              {"causal", o.shape.causal},
                              {"data", o.data},
                              {"seed", o.seed},
                              {"variants", nlohmann::ordered_json::array()}};
  for (size_t i = 0; i < variants.size(); ++i) {
    fmt::print("  {:<{}}  {:<5}", variants[i].name, width, results[i].ok() ? "ok" : "WRONG");
    nlohmann::ordered_json entry{{"name", variants[i].name},
                                 {"check", {{"ok", results[i].wrong.empty()}}},
                                 {"findings", results[i].findings}};
    if (!times.empty()) {
      const harness::Timing& t = times[i];
      const double tflops = Case::flop(o.shape) / (t.median * 1e9);
      const double gbytes = Case::bytes_per_set(o.shape) / (t.median * 1e6);
      fmt::print("  {:>10.4f}  {:>19}  {:>7}  {:>8.2f}  {:>8.1f}", t.median,
                 fmt::format("{:.4f}-{:.4f}", t.p10, t.p90), t.samples, tflops, gbytes);
      entry["ms"] = t.median, entry["p10"] = t.p10, entry["p90"] = t.p90;
      entry["samples"] = t.samples, entry["tflops"] = tflops;
      entry["gbytes_per_s"] = gbytes;
      if (o.cudnn) {
        const double percent = 100 * times[variants.size() - 1].median / t.median;
        fmt::print("  {:>10.1f}", percent);
        entry["percent_of_cudnn"] = percent;
      }
    }
    fmt::print("\n");
    json["variants"].push_back(entry);
  }
#ifndef LADDER_CPU_DEVICE
  if (times.size() > variants.size()) {
    const harness::Timing& t = times.back();
    const double gbytes =
        2.0 * sizeof(bf16) * static_cast<double>(numbers_of_keys(o.shape)) / (t.median * 1e6);
    fmt::print("  a copy of K, read and written: {:.4f} ms, {:.1f} GB/s\n", t.median, gbytes);
    json["copy"] = {{"ms", t.median}, {"samples", t.samples}, {"gbytes_per_s", gbytes}};
  }
#endif
  if (!o.json.empty()) harness::write_whole(o.json, json.dump(2) + "\n");
  for (size_t i = 0; i < variants.size(); ++i)
    if (!results[i].ok())
      throw std::runtime_error(fmt::format("{}: {}", variants[i].name, results[i].text()));
}

}  // namespace

int run(const char* stage, const std::vector<Variant>& variants, int argc, char** argv) {
  return harness::run_program(stage, [&] {
    try {
      const auto options = parse(stage, variants, argc, argv);
      if (!options) return;
      if (options->list)
        for (const Variant& variant : variants) fmt::print("{}\n", variant.name);
      else
        run_variants(stage, variants, *options);
    } catch (const std::invalid_argument& error) {  // a launcher cannot serve this shape or device
      throw UsageError(error.what());
    }
  });
}

}  // namespace ladder::attention_bench
