#include "report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "options.h"
#include "peak.h"
#include "timer.h"

namespace ladder::harness {
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

Json to_json(const MemoryRow& row) {
  const auto requests = static_cast<double>(row.requests);
  const std::string unit = row.shared ? "wavefronts" : "sectors";
  return {{"file", row.file},
          {"line", row.line},
          {"text", row.text},
          {"array", row.array},
          {"space", row.shared ? "shared" : "global"},
          {"op", row.store ? "store" : "load"},
          {"bytes", row.bytes},
          {"requests", row.requests},
          {"lanes", row.lanes},
          {unit + "_per_request", static_cast<double>(row.cost) / requests},
          {"ideal_" + unit, static_cast<double>(row.ideal) / requests},
          {"sample", row.sample}};
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

std::vector<std::pair<std::string, uint64_t>> memory_totals(const std::vector<MemoryRow>& rows) {
  uint64_t requests[2] = {}, sectors[2] = {}, wavefronts[2] = {}, conflicts[2] = {};
  for (const MemoryRow& row : rows) {
    if (row.shared) {
      wavefronts[row.store] += row.cost;
      conflicts[row.store] += row.cost - row.ideal;
    } else {
      requests[row.store] += row.requests;
      sectors[row.store] += row.cost;
    }
  }
  std::vector<std::pair<std::string, uint64_t>> totals;
  for (const int store : {0, 1}) {
    const std::string suffix = store != 0 ? "op_st.sum" : "op_ld.sum";
    totals.emplace_back("l1tex__t_requests_pipe_lsu_mem_global_" + suffix, requests[store]);
    totals.emplace_back("l1tex__t_sectors_pipe_lsu_mem_global_" + suffix, sectors[store]);
    totals.emplace_back("l1tex__data_pipe_lsu_wavefronts_mem_shared_" + suffix, wavefronts[store]);
    totals.emplace_back("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_" + suffix,
                        conflicts[store]);
  }
  return totals;
}

namespace {

// The widest name decides the first column of a table.
size_t name_width(const Report& r) {
  size_t width = std::string("variant").size();
  for (const VariantReport& v : r.variants) width = std::max(width, v.name.size());
  return width;
}

std::string check_text(const VariantReport& v) {
  return !v.check ? "off" : v.check->ok ? "ok" : "WRONG";
}

std::string gpu_table(const Report& r) {
  const std::optional<double> peak = peak_tflops(r.device, r.input);
  const bool timed = !r.variants.empty() && r.variants.back().time.has_value();
  const bool sustained = timed && r.variants.back().sustained.has_value();
  const size_t width = name_width(r);

  std::string text = fmt::format("  {:<{}}  {:<5}", "variant", width, "check");
  if (timed)
    text += fmt::format("  {:>10}  {:>19}  {:>7}  {:>8}  {:>8}  {:>7}", "median, ms", "p10-p90, ms",
                        "samples", "TFLOP/s", "% cuBLAS", "% peak");
  if (sustained) text += fmt::format("  {:>18}  {:>8}", "sustained TFLOP/s", "% cuBLAS");
  text += fmt::format("  {:>9}  {:>9}  {:>7}  {:>11}\n", "registers", "shared, B", "threads",
                      "occupancy %");
  for (const VariantReport& v : r.variants) {
    text += fmt::format("  {:<{}}  {:<5}", v.name, width, check_text(v));
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
    text += fmt::format("  {:>9}  {:>9}  {:>7}  {:>11.1f}\n", v.kernel->registers,
                        v.kernel->shared_bytes, v.kernel->threads, 100 * v.kernel->occupancy);
  }
  if (timed) {
    const Timing& c = *r.variants.back().cublas;
    text +=
        fmt::format("  cuBLAS {}: {:.4f} ms, {:.2f} TFLOP/s, interleaved with {}\n",
                    r.cublas_version, c.median, tflops(r.shape, c.median), r.variants.back().name);
  }
  for (const VariantReport& v : r.variants)
    if (v.time && v.time->samples < MIN_SAMPLES)
      text += fmt::format("  {}: only {} samples\n", v.name, v.time->samples);
  return text;
}

std::string memory_table(const std::vector<MemoryRow>& rows) {
  std::string text = fmt::format(
      "    {:<28}  {:<5}  {:<16}  {:>5}  {:>9}  {:>5}  {:>8}  {:>5}  {:>10}  {:>5}  {}\n", "line",
      "op", "array", "bytes", "requests", "lanes", "sectors/", "ideal", "wavefronts/", "ideal",
      "code");
  for (const MemoryRow& row : rows) {
    const auto requests = static_cast<double>(row.requests);
    const std::string cost = fmt::format("{:.2f}", static_cast<double>(row.cost) / requests);
    const std::string ideal = fmt::format("{:.2f}", static_cast<double>(row.ideal) / requests);
    const char* mark = row.cost == row.ideal ? ""
                       : row.shared          ? "  <-- bank conflicts"
                                             : "  <-- more sectors than needed";
    text += fmt::format(
        "    {:<28}  {:<5}  {:<16}  {:>5}  {:>9}  {:>5.1f}  {:>8}  {:>5}  {:>11}  {:>5}  {}{}\n",
        fmt::format("{}:{}", std::filesystem::path(row.file).filename().string(), row.line),
        row.store ? "store" : "load", (row.shared ? "shared " : "global ") + row.array, row.bytes,
        row.requests, static_cast<double>(row.lanes) / requests, row.shared ? "-" : cost,
        row.shared ? "-" : ideal, row.shared ? cost : "-", row.shared ? ideal : "-", row.text,
        mark);
  }
  for (const auto& [name, total] : memory_totals(rows))
    text += fmt::format("    {:<66}  {:>12}\n", name, total);
  return text;
}

std::string cpu_table(const Report& r) {
  const size_t width = name_width(r);
  std::string text = fmt::format("  {:<{}}  {:<5}\n", "variant", width, "check");
  for (const VariantReport& v : r.variants)
    text += fmt::format("  {:<{}}  {:<5}\n", v.name, width, check_text(v));
  for (const VariantReport& v : r.variants)
    if (v.memory) text += fmt::format("\n  {}\n{}", v.name, memory_table(*v.memory));
  return text;
}

}  // namespace

std::string to_table(const Report& r) {
  const bool cpu = r.device.kind == "cpu";
  std::string text = fmt::format("{}: {}, {} -> {}, on {}", r.stage, shape_text(r.shape), r.input,
                                 r.output, r.device.name);
  text += cpu ? " as the device: results and memory traffic, no times\n"
              : fmt::format(" (sm_{}, {} multiprocessors, {:.0f} MHz)\n", r.device.sm,
                            r.device.multiprocessors, r.device.clock_mhz);
  text += cpu ? cpu_table(r) : gpu_table(r);
  for (const VariantReport& v : r.variants) {
    if (v.check && !v.check->ok) text += fmt::format("  WRONG {}: {}\n", v.name, v.check->message);
    for (const std::string& finding : v.findings)
      text += fmt::format("  FOUND {}: {}\n", v.name, finding);
  }
  return text;
}

std::string to_json(const Report& r) {
  const bool cpu = r.device.kind == "cpu";
  const std::optional<double> peak = peak_tflops(r.device, r.input);
  Json json;
  json["stage"] = r.stage;
  json["device"] = {{"kind", r.device.kind}, {"name", r.device.name}};
  if (!cpu) {
    json["device"]["sm"] = r.device.sm;
    json["device"]["multiprocessors"] = r.device.multiprocessors;
    json["device"]["clock_mhz"] = r.device.clock_mhz;
    json["device"]["peak_tflops"] = peak ? Json(*peak) : Json();
    json["device"]["memory_gb_s"] = r.device.memory_gb_s;
    json["device"]["driver"] = r.device.driver;
    json["device"]["toolkit"] = r.device.toolkit;
  }
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
    if (v.kernel) {
      variant["registers"] = v.kernel->registers;
      variant["shared_bytes"] = v.kernel->shared_bytes;
      variant["threads"] = v.kernel->threads;
      variant["occupancy"] = v.kernel->occupancy;
    }
    if (v.memory) {
      variant["memory"] = Json::array();
      for (const MemoryRow& row : *v.memory) variant["memory"].push_back(to_json(row));
      for (const auto& [name, total] : memory_totals(*v.memory)) variant["totals"][name] = total;
    }
    if (cpu) variant["findings"] = v.findings;
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

}  // namespace ladder::harness
