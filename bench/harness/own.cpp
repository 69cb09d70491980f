#include "own.h"

#include <nlohmann/json.hpp>

#include "command_line.h"
#ifdef LADDER_CPU_DEVICE
  #include "access_digest.h"
  #include "cpu_device/block.h"
  #include "findings.h"
#endif

namespace ladder::harness {

OwnCommandLine::OwnCommandLine(const char* about, const char* stage)
    : app_(std::make_unique<CLI::App>(about, stage)) {}
OwnCommandLine::~OwnCommandLine() = default;

void OwnCommandLine::number(const std::string& name, int& to, int least, const std::string& what,
                            bool shows) {
  CLI::Option* option = app_->add_option(name, to, what)->check(CLI::Range(least, 1 << 24));
  if (shows) option->capture_default_str();
}

void OwnCommandLine::one_of(const std::string& name, std::string& to,
                            const std::vector<std::string>& values, const std::string& what) {
  const std::string about = fmt::format("{}{}", what, fmt::join(values, ", "));
  app_->add_option(name, to, about)->check(CLI::IsMember(values))->capture_default_str();
}

void OwnCommandLine::flag(const std::string& name, bool& to, const std::string& what) {
  app_->add_flag(name, to, what);
}

bool OwnCommandLine::parse(OwnOptions& o, const std::vector<std::string>& variants,
                           const std::vector<std::string>& data, const std::string& about_data,
                           int argc, const char* const* argv) {
  o.data = data.front();
  app_->add_option("--data", o.data, about_data)->check(CLI::IsMember(data))->capture_default_str();
  app_->add_option("--variant", o.variants, "these alone")->check(CLI::IsMember(variants));
  app_->add_flag("--all-shapes", o.all_shapes, "check shapes and data of every kind instead");
  app_->add_flag("--list", o.list, "print the variants' names and end");
#ifdef LADDER_CPU_DEVICE
  app_->add_flag("--digest", o.digest, "numbers for all accesses, in the JSON");
#else
  app_->add_flag("--check", o.check_alone, "check, and do not time");
  app_->add_option("--iterations", o.iterations, "timed launches of each variant")
      ->check(CLI::Range(1, 1 << 20));
#endif
  add_output_file(*app_, "--json", o.json, "also write the results to this file");
  add_seed_and_device(*app_, o.seed, o.device);
  return parse_arguments(*app_, argc, argv);
}

bool OwnCommandLine::is_given(const std::string& name) const {
  return app_->count(name) > 0;
}

Checked checked(const std::string& name, const std::string& wrong) {
  Checked result{name, wrong, {}, {}};
#ifdef LADDER_CPU_DEVICE
  result.findings = finding_texts();
  if (cpu_device::settings().digest) result.digest = access_digest();
#endif
  return result;
}

void require_ok(const std::vector<Checked>& variants, const std::string& where) {
  for (const Checked& variant : variants)
    if (!variant.ok())
      throw std::runtime_error(fmt::format("{}{}: {}", variant.name, where, variant.text()));
}

Machine machine(const OwnOptions& o) {
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

namespace {

// The table; returns its lines for the JSON.
nlohmann::ordered_json print_variants(const std::vector<Checked>& variants,
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
#ifdef LADDER_CPU_DEVICE
    if (variant.digest) entry["digest"] = to_json(*variant.digest);
#endif
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

}  // namespace

void report(const std::string& stage, const Machine& machine, const OwnOptions& o,
            const std::vector<Field>& problem, const std::vector<Checked>& variants,
            const std::vector<Timing>& times, const std::vector<Column>& columns,
            const std::vector<Beside>& beside) {
  nlohmann::ordered_json json{{"stage", stage}, {"device", machine.name}};
  for (const Field& field : problem)
    std::visit([&](const auto& value) { json[field.key] = value; }, field.value);
  json["data"] = o.data, json["seed"] = o.seed;
  json["variants"] = print_variants(variants, times, columns);
  for (const auto& [what, key, time, bytes] : beside) {
    json[key] = {{"ms", time.median}, {"samples", time.samples}};
    fmt::print("  {}: {:.4f} ms", what, time.median);
    if (bytes > 0) {
      const double gbytes = bytes / (time.median * 1e6);
      json[key]["gbytes_per_s"] = gbytes;
      fmt::print(", {:.1f} GB/s", gbytes);
    }
    fmt::print("\n");
  }
  if (!o.json.empty()) write_whole(o.json, json.dump(2) + "\n");
  require_ok(variants);
}

}  // namespace ladder::harness
