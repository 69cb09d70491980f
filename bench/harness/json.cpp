#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "peak.h"
#include "report.h"

namespace ladder::harness {

using Json = nlohmann::ordered_json;

Json to_json(const AccessDigest& d) {  // access_digest.h has it for harnesses of their own
  Json lines = Json::array();
  for (const auto& line : d.lines)
    lines.push_back({{"file", line.file},
                     {"line", line.line},
                     {"text", line.text},
                     {"digest", fmt::format("{:016x}", line.digest)}});
  return {{"all", fmt::format("{:016x}", d.all)},
          {"accesses", fmt::format("{:016x}", d.accesses)},
          {"events", d.events},
          {"lines", lines},
          {"blocks", d.blocks}};
}

namespace {

Json to_json(const Timing& t) {
  return {{"median", t.median}, {"p10", t.p10}, {"p90", t.p90}, {"samples", t.samples}};
}

Json to_json(const MemoryRow& row) {
  const auto requests = static_cast<double>(row.requests);
  const std::string unit = row.shared ? "wavefronts" : "sectors";
  Json json = {{"file", row.file},
               {"line", row.line},
               {"text", row.text},
               {"array", row.array},
               {"space", row.shared ? "shared" : "global"},
               {"op", row.op},
               {"bytes", row.bytes},
               {"requests", row.requests},
               {"lanes", row.lanes},
               {unit + "_per_request", static_cast<double>(row.cost) / requests},
               {"ideal_" + unit, static_cast<double>(row.ideal) / requests}};
  if (!row.first.empty()) json["sample"] = row.first.front().offsets;  // boxes have no lanes
  return json;
}

Json to_json(const PowerRun& run) {
  const PowerUse& use = run.use;
  Json json = {{"tflops", run.tflops}, {"samples", use.samples}};
  if (use.samples == 0) return json;
  json["watts"] = use.watts;
  json["sm_mhz"] = use.sm_mhz;
  json["power_cap"] = use.power_cap;
  json["hardware_slowdown"] = use.hardware_slowdown;
  json["thermal"] = use.thermal;
  return json;
}

Json to_json(const PowerReport& power) {
  if (!power.unavailable.empty()) return {{"unavailable", power.unavailable}};
  Json json = {{"sensor", power.sensor}, {"limit_watts", power.limit_watts}};
  for (const ContenderPower& c : power.contenders)
    json[c.contender] = {{"bursts", to_json(c.bursts)}, {"sustained", to_json(c.sustained)}};
  return json;
}

// Not a number has no spelling in JSON; null would read as "not measured".
Json number_or_text(double x) {
  if (std::isfinite(x)) return x;
  return fmt::format("{}", x);
}

}  // namespace

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
  json["problem"] = {{"m", r.shape.m},
                     {"n", r.shape.n},
                     {"k", r.shape.k},
                     {"input", r.input},
                     {"accumulate", r.accumulate},
                     {"output", r.output},
                     {"data", name(r.data)},
                     {"seed", r.seed}};
  if (r.wide)
    json["problem"]["wide"] = {
        {"values", r.wide->values()}, {"too_large", r.wide->too_large}, {"runs", r.wide->runs()}};
  if (r.runs > 1) json["problem"]["runs"] = r.runs;
  if (r.layout != Layout{}) json["problem"]["layout"] = name(r.layout);
  if (!r.ends.empty()) json["problem"]["groups"] = rows_of_groups(r.ends);
  if (r.sums != Sums::FP32) json["problem"]["sums"] = name(r.sums);
  if (const EpilogueChoice& e = r.epilogue; !e.is_product_alone()) {
    json["problem"]["epilogue"] = {
        {"alpha", e.alpha},
        {"beta", e.beta},
        {"bias", e.bias},
        {"residual", e.residual},
        {"scale", SCALE_NAMES[static_cast<int>(e.scale)]},
        {"activation", ACTIVATION_NAMES[static_cast<int>(e.activation)]}};
    if (e.zero_point != 0) json["problem"]["epilogue"]["zero_point"] = e.zero_point;
  }
  json["variants"] = Json::array();
  for (const VariantReport& v : r.variants) {
    Json variant = {{"name", v.name}};
    if (v.check)
      variant["check"] = {{"mode", is_exact(r.data) ? "exact" : "random"},
                          {"ok", v.check->ok},
                          {"max_error", number_or_text(v.check->max_error)},
                          {"bound", v.check->bound}};
    if (v.time) {
      const double rate = tflops(r.shape, v.time->median);
      variant["time_ms"] = to_json(*v.time);
      variant["tflops"] = rate;
      variant["percent_of_cublas"] = percent_of_cublas(v);
      if (v.best) variant["percent_of_best"] = *percent_of_best(v);
      variant["percent_of_peak"] = peak ? Json(100 * rate / *peak) : Json();
    }
    if (v.sustained) {
      variant["sustained"] = {{"tflops", v.sustained->tflops},
                              {"percent_of_cublas", v.sustained->percent_of_cublas}};
      if (v.sustained->percent_of_best)
        variant["sustained"]["percent_of_best"] = *v.sustained->percent_of_best;
    }
    if (v.power) variant["power"] = to_json(*v.power);
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
    if (v.digest) variant["digest"] = to_json(*v.digest);
    if (cpu) variant["findings"] = v.findings;
    json["variants"].push_back(variant);
  }
  if (!r.variants.empty() && r.variants.back().cublas) {
    const Timing& c = *r.variants.back().cublas;
    json["cublas"] = {{"time_ms", to_json(c)},
                      {"tflops", tflops(r.shape, c.median)},
                      {"version", r.cublas_version}};
  }
  if (r.best) {
    json["best_cublaslt"] = {{"algorithms", r.best->algorithms},
                             {"algorithm", r.best->algorithm},
                             {"left_out", r.best->left_out}};
    if (!r.variants.empty() && r.variants.back().best) {
      const Timing& best = *r.variants.back().best;
      json["best_cublaslt"]["time_ms"] = to_json(best);
      json["best_cublaslt"]["tflops"] = tflops(r.shape, best.median);
    }
  }
  return json.dump(2) + "\n";
}

std::string to_trace(const Report& r) {
  Json json = {{"stage", r.stage},
               {"problem", {{"m", r.shape.m}, {"n", r.shape.n}, {"k", r.shape.k}}},
               {"input", r.input},
               {"output", r.output},
               {"variants", Json::array()}};
  for (const VariantReport& v : r.variants) {
    Json lines = Json::array();
    for (const MemoryRow& row : *v.memory) {
      Json line = to_json(row);
      line.erase("sample");
      line["array_bytes"] = row.array_bytes;
      line["pitch"] = row.pitch;
      line["warp"] = row.warp;
      for (const RequestRow& request : row.first) {
        line["first"].push_back({{"offsets", request.offsets}, {"cost", request.cost}});
        if (!request.to.empty()) line["first"].back()["to"] = request.to;
      }
      lines.push_back(line);
    }
    json["variants"].push_back({{"name", v.name}, {"lines", lines}});
  }
  return json.dump() + "\n";
}

}  // namespace ladder::harness
