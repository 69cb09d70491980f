#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "peak.h"
#include "random.h"
#include "report.h"
#include "schedule.h"

namespace ladder::harness {
namespace {

std::string shape_text(Shape s) {
  if (s.m == s.n && s.n == s.k) return fmt::format("M = N = K = {}", s.m);
  return fmt::format("M = {}, N = {}, K = {}", s.m, s.n, s.k);
}

// The widest name decides the first column of a table.
size_t name_width(const Report& r) {
  size_t width = std::string("variant").size();
  for (const VariantReport& v : r.variants) width = std::max(width, v.name.size());
  return width;
}

std::string data_text(Data data) {
  switch (data) {
    case Data::UNIFORM:
      break;
    case Data::EXACT:
      return "small integers; results must be equal";
    case Data::WIDE:
      return "integers as wide as sums allow; results must be equal";
    case Data::ZEROS:
      return "zeros; results must be equal, which proves little";
    case Data::CONSTANT:
      return fmt::format("{} everywhere; results must be equal, which proves little", CONSTANT);
  }
  return "random";
}

std::string check_text(const VariantReport& v) {
  return !v.check ? "off" : v.check->ok ? "ok" : "WRONG";
}

std::string best_column(std::optional<double> percent) {
  return percent ? fmt::format("  {:>6.1f}", *percent) : "";
}

std::string power_text(const PowerRun& run) {
  if (run.use.samples == 0) return "no sample";
  return fmt::format("{:.0f} TFLOP/s, {:.0f} W, {:.0f} MHz, power cap {:.0f}%", run.tflops,
                     run.use.watts, run.use.sm_mhz, 100 * run.use.power_cap);
}

std::string power_table(const VariantReport& v) {
  if (!v.power->unavailable.empty())
    return fmt::format("  {}: no power: {}\n", v.name, v.power->unavailable);
  std::string text =
      fmt::format("  {}: each by itself, limit {:.0f} W\n", v.name, v.power->limit_watts);
  for (const ContenderPower& c : v.power->contenders)
    text += fmt::format("    {:<6}  in bursts {}; without rests {}\n", c.contender,
                        power_text(c.bursts), power_text(c.sustained));
  return text;
}

std::string gpu_table(const Report& r) {
  const std::optional<double> peak = peak_tflops(r.device, r.input);
  const bool timed = !r.variants.empty() && r.variants.back().time.has_value();
  const bool sustained = timed && r.variants.back().sustained.has_value();
  const bool best = timed && r.variants.back().best.has_value();
  const size_t width = name_width(r);

  std::string text = fmt::format("  {:<{}}  {:<5}", "variant", width, "check");
  if (timed)
    text +=
        fmt::format("  {:>10}  {:>19}  {:>7}  {:>8}  {:>8}{}  {:>7}", "median, ms", "p10-p90, ms",
                    "samples", "TFLOP/s", "% cuBLAS", best ? "  % best" : "", "% peak");
  if (sustained)
    text +=
        fmt::format("  {:>18}  {:>8}{}", "sustained TFLOP/s", "% cuBLAS", best ? "  % best" : "");
  text += fmt::format("  {:>9}  {:>9}  {:>7}  {:>11}\n", "registers", "shared, B", "threads",
                      "occupancy %");
  for (const VariantReport& v : r.variants) {
    text += fmt::format("  {:<{}}  {:<5}", v.name, width, check_text(v));
    if (v.time) {
      const double rate = tflops(r.shape, v.time->median);
      text += fmt::format("  {:>10.4f}  {:>19}  {:>7}  {:>8.2f}  {:>8.1f}{}  {:>7}", v.time->median,
                          fmt::format("{:.4f}-{:.4f}", v.time->p10, v.time->p90), v.time->samples,
                          rate, percent_of_cublas(v), best_column(percent_of_best(v)),
                          peak ? fmt::format("{:.1f}", 100 * rate / *peak) : "unknown");
    }
    if (v.sustained)
      text +=
          fmt::format("  {:>18.2f}  {:>8.1f}{}", v.sustained->tflops,
                      v.sustained->percent_of_cublas, best_column(v.sustained->percent_of_best));
    if (v.kernel)
      text += fmt::format("  {:>9}  {:>9}  {:>7}  {:>11.1f}\n", v.kernel->registers,
                          v.kernel->shared_bytes, v.kernel->threads, 100 * v.kernel->occupancy);
    else
      text += fmt::format("  {0:>9}  {0:>9}  {0:>7}  {0:>11}\n", "unknown");
  }
  for (const VariantReport& v : r.variants)
    if (v.power) text += power_table(v);
  if (timed && !r.variants.back().cublas)
    text += fmt::format("  cuBLAS {}: none for this problem; compared with doubles\n",
                        r.cublas_version);
  if (timed && r.variants.back().cublas) {
    const Timing& c = *r.variants.back().cublas;
    text += fmt::format("  cuBLAS {}{}: {:.4f} ms, {:.2f} TFLOP/s, interleaved with {}\n",
                        r.cublas_version,
                        !r.ends.empty()                     ? ", group by group"
                        : r.variants.back().cublas_does_all ? ""
                                                            : ", the product alone",
                        c.median, tflops(r.shape, c.median), r.variants.back().name);
  }
  if (best) {
    const Timing& b = *r.variants.back().best;
    text += fmt::format("  best of {} algorithms of cublasLt: {:.4f} ms, {:.2f} TFLOP/s: {}\n",
                        r.best->algorithms, b.median, tflops(r.shape, b.median), r.best->algorithm);
  } else if (r.best) {
    text += fmt::format("  of {} algorithms of cublasLt none is right\n", r.best->algorithms);
  }
  if (r.best)
    for (const std::string& algorithm : r.best->left_out)
      text += fmt::format("  LEFT OUT of cublasLt: {}\n", algorithm);
  for (const VariantReport& v : r.variants)
    if (v.time && v.time->samples < MIN_SAMPLES)
      text += fmt::format("  {}: only {} samples\n", v.name, v.time->samples);
  return text;
}

std::string memory_table(const std::vector<MemoryRow>& rows) {
  std::string text = fmt::format(
      "    {:<28}  {:<12}  {:<16}  {:>5}  {:>9}  {:>5}  {:>8}  {:>5}  {:>10}  {:>5}  {}\n", "line",
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
        "    {:<28}  {:<12}  {:<16}  {:>5}  {:>9}  {:>5}  {:>8}  {:>5}  {:>11}  {:>5}  {}{}\n",
        fmt::format("{}:{}", std::filesystem::path(row.file).filename().string(), row.line), row.op,
        (row.shared ? "shared " : "global ") + row.array, row.bytes, row.requests,
        row.lanes == 0 ? "-" : fmt::format("{:.1f}", static_cast<double>(row.lanes) / requests),
        row.shared ? "-" : cost, row.shared ? "-" : ideal, row.shared ? cost : "-",
        row.shared ? ideal : "-", row.text, mark);
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
  if (r.data != Data::UNIFORM) text += fmt::format("  A and B: {}\n", data_text(r.data));
  if (r.runs > 1) text += fmt::format("  {} runs, each with new data\n", r.runs);
  if (r.layout != Layout{})
    text += fmt::format("  layout {}: A is stored as {}, B as {}\n", name(r.layout),
                        r.layout.transposed_a ? "K x M" : "M x K",
                        r.layout.transposed_b ? "N x K" : "K x N");
  if (!r.ends.empty())
    text += fmt::format("  {} groups of {} rows, a B for each\n", r.ends.size(),
                        fmt::join(rows_of_groups(r.ends), ", "));
  if (r.sums != Sums::FP32) text += fmt::format("  sums: {}\n", name(r.sums));
  if (!r.epilogue.is_product_alone()) text += fmt::format("  C = {}\n", r.epilogue.formula());
  text += cpu ? cpu_table(r) : gpu_table(r);
  for (const VariantReport& v : r.variants) {
    if (v.check && !v.check->ok) text += fmt::format("  WRONG {}: {}\n", v.name, v.check->message);
    for (const std::string& finding : v.findings)
      text += fmt::format("  FOUND {}: {}\n", v.name, finding);
  }
  return text;
}

}  // namespace ladder::harness
