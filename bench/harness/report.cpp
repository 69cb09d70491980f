#include "report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "options.h"
#include "timer.h"

namespace harness {
namespace {

using Json = nlohmann::ordered_json;

double percent_of_cublas(const VariantReport& v) {
  return 100.0 * v.cublas->median / v.time->median;
}

std::string shape_text(Shape s) {
  if (s.m == s.n && s.n == s.k) return fmt::format("M = N = K = {}", s.m);
  return fmt::format("M = {}, N = {}, K = {}", s.m, s.n, s.k);
}

Json to_json(const Timing& t) {
  return {{"median", t.median}, {"p10", t.p10}, {"p90", t.p90}, {"samples", t.samples}};
}

// Not a number has no spelling in JSON; null would read as "not measured".
Json number_or_text(double x) {
  if (std::isfinite(x)) return x;
  return fmt::format("{}", x);
}

}  // namespace

double tflops(Shape s, double milliseconds) {
  return 2.0 * s.m * s.n * s.k / (milliseconds * 1e-3) / 1e12;
}

std::string to_table(const Report& r) {
  const std::optional<double> peak = peak_tflops(r.device, r.input);
  const bool timed = !r.variants.empty() && r.variants.back().time.has_value();
  const bool sustained = timed && r.variants.back().sustained.has_value();
  size_t width = std::string("variant").size();
  for (const VariantReport& v : r.variants) width = std::max(width, v.name.size());

  std::string text =
      fmt::format("{}: {}, {} -> {}, on {} (sm_{}, {} multiprocessors, {:.0f} MHz)\n", r.stage,
                  shape_text(r.shape), r.input, r.output, r.device.name, r.device.sm,
                  r.device.multiprocessors, r.device.clock_mhz);
  text += fmt::format("  {:<{}}  {:<5}", "variant", width, "check");
  if (timed)
    text += fmt::format("  {:>10}  {:>19}  {:>7}  {:>8}  {:>8}  {:>7}", "median, ms", "p10-p90, ms",
                        "samples", "TFLOP/s", "% cuBLAS", "% peak");
  if (sustained) text += fmt::format("  {:>18}  {:>8}", "sustained TFLOP/s", "% cuBLAS");
  text += fmt::format("  {:>9}  {:>9}  {:>7}  {:>11}\n", "registers", "shared, B", "threads",
                      "occupancy %");
  for (const VariantReport& v : r.variants) {
    const char* check = !v.check ? "off" : v.check->ok ? "ok" : "WRONG";
    text += fmt::format("  {:<{}}  {:<5}", v.name, width, check);
    if (v.time) {
      const double rate = tflops(r.shape, v.time->median);
      text += fmt::format("  {:>10.4f}  {:>19}  {:>7}  {:>8.2f}  {:>8.1f}  {:>7}", v.time->median,
                          fmt::format("{:.4f}-{:.4f}", v.time->p10, v.time->p90), v.time->samples,
                          rate, percent_of_cublas(v),
                          peak ? fmt::format("{:.1f}", 100 * rate / *peak) : "unknown");
    }
    if (v.sustained)
      text +=
          fmt::format("  {:>18.2f}  {:>8.1f}", v.sustained->tflops, v.sustained->percent_of_cublas);
    text += fmt::format("  {:>9}  {:>9}  {:>7}  {:>11.1f}\n", v.kernel.registers,
                        v.kernel.shared_bytes, v.kernel.threads, 100 * v.kernel.occupancy);
  }
  if (timed) {
    const Timing& c = *r.variants.back().cublas;
    text +=
        fmt::format("  cuBLAS {}: {:.4f} ms, {:.2f} TFLOP/s, interleaved with {}\n",
                    r.cublas_version, c.median, tflops(r.shape, c.median), r.variants.back().name);
  }
  for (const VariantReport& v : r.variants) {
    if (v.check && !v.check->ok) text += fmt::format("  WRONG {}: {}\n", v.name, v.check->message);
    if (v.time && v.time->samples < MIN_SAMPLES)
      text += fmt::format("  {}: only {} samples\n", v.name, v.time->samples);
  }
  return text;
}

std::string to_json(const Report& r) {
  const std::optional<double> peak = peak_tflops(r.device, r.input);
  Json json;
  json["stage"] = r.stage;
  json["device"] = {{"kind", "cuda"},
                    {"name", r.device.name},
                    {"sm", r.device.sm},
                    {"multiprocessors", r.device.multiprocessors},
                    {"clock_mhz", r.device.clock_mhz},
                    {"peak_tflops", peak ? Json(*peak) : Json()},
                    {"memory_gb_s", r.device.memory_gb_s},
                    {"driver", r.device.driver},
                    {"toolkit", r.device.toolkit}};
  json["problem"] = {{"m", r.shape.m},   {"n", r.shape.n},       {"k", r.shape.k},
                     {"input", r.input}, {"accumulate", "fp32"}, {"output", r.output},
                     {"seed", r.seed}};
  json["variants"] = Json::array();
  for (const VariantReport& v : r.variants) {
    Json variant = {{"name", v.name}};
    if (v.check)
      variant["check"] = {{"mode", r.data == Data::EXACT ? "exact" : "random"},
                          {"ok", v.check->ok},
                          {"max_error", number_or_text(v.check->max_error)},
                          {"bound", v.check->bound}};
    if (v.time) {
      const double rate = tflops(r.shape, v.time->median);
      variant["time_ms"] = to_json(*v.time);
      variant["tflops"] = rate;
      variant["percent_of_cublas"] = percent_of_cublas(v);
      variant["percent_of_peak"] = peak ? Json(100 * rate / *peak) : Json();
    }
    if (v.sustained)
      variant["sustained"] = {{"tflops", v.sustained->tflops},
                              {"percent_of_cublas", v.sustained->percent_of_cublas}};
    variant["registers"] = v.kernel.registers;
    variant["shared_bytes"] = v.kernel.shared_bytes;
    variant["threads"] = v.kernel.threads;
    variant["occupancy"] = v.kernel.occupancy;
    json["variants"].push_back(variant);
  }
  if (!r.variants.empty() && r.variants.back().cublas) {
    const Timing& c = *r.variants.back().cublas;
    json["cublas"] = {{"time_ms", to_json(c)},
                      {"tflops", tflops(r.shape, c.median)},
                      {"version", r.cublas_version}};
  }
  return json.dump(2) + "\n";
}

namespace {
std::string temporary_path(const std::string& path) {
  return fmt::format("{}.{}.tmp", path, getpid());
}
}  // namespace

void require_writable(const std::string& path) {
  const std::string temporary = temporary_path(path);
  if (std::filesystem::is_directory(path))
    throw UsageError(fmt::format("--json: {} is a directory; a file name is needed", path));
  if (!std::ofstream(temporary))
    throw UsageError(fmt::format("--json: cannot write {}; does its folder exist?", path));
  std::filesystem::remove(temporary);
}

void write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = temporary_path(path);
  std::ofstream file(temporary);
  file << text;
  file.close();
  if (!file) {
    std::filesystem::remove(temporary);
    throw std::runtime_error(fmt::format("cannot write {}; is the disk full?", path));
  }
  std::filesystem::rename(temporary, path);
}

}  // namespace harness
