#include "harness/report.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "harness/options.h"
#include "harness/peak.h"

namespace ladder::harness {
namespace {

Report sample() {
  Report r;
  r.stage = "09_sample";
  r.device = {"cuda", "Some GPU", 90, 132, 1980, 4800, 50 << 20, "13.0", "12.4"};
  r.shape = {1000, 2000, 3000};
  r.data = Data::UNIFORM;
  r.seed = UINT64_MAX;
  r.input = "fp16";
  r.accumulate = "fp32";
  r.output = "fp16";
  r.cublas_version = "13.1.0";
  for (const char* name : {"slow", "sample"}) {
    VariantReport v;
    v.name = name;
    v.check = Verdict{true, 0, 0.25, 0.5, ""};
    v.time = Timing{2.0, 1.5, 2.5, name == std::string("slow") ? 7 : 100};
    v.cublas = Timing{1.0, 0.9, 1.1, 100};
    v.sustained = Sustained{5.5, 45};
    v.kernel = KernelFacts{200, 49664, 256, 0.125};
    r.variants.push_back(v);
  }
  return r;
}

TEST(Report, RateCountsTwoOperationsAnFma) {
  EXPECT_DOUBLE_EQ(12.0, tflops({1000, 2000, 3000}, 1.0));
}

TEST(Report, JsonParsesBackWithEveryField) {
  const auto j = nlohmann::json::parse(to_json(sample()));
  EXPECT_EQ("09_sample", j["stage"]);
  EXPECT_EQ("cuda", j["device"]["kind"]);
  EXPECT_EQ("Some GPU", j["device"]["name"]);
  EXPECT_EQ(90, j["device"]["sm"]);
  EXPECT_NEAR(1070.5, j["device"]["peak_tflops"], 0.1);
  EXPECT_EQ("12.4", j["device"]["toolkit"]);
  EXPECT_EQ(3000, j["problem"]["k"]);
  EXPECT_EQ("fp16", j["problem"]["input"]);
  EXPECT_EQ("fp32", j["problem"]["accumulate"]);
  EXPECT_EQ(UINT64_MAX, j["problem"]["seed"].get<uint64_t>());
  const auto& v = j["variants"][1];
  EXPECT_EQ("sample", v["name"]);
  EXPECT_EQ("random", v["check"]["mode"]);
  EXPECT_EQ(true, v["check"]["ok"]);
  EXPECT_EQ(0.25, v["check"]["max_error"]);
  EXPECT_EQ(0.5, v["check"]["bound"]);
  EXPECT_EQ(2.0, v["time_ms"]["median"]);
  EXPECT_EQ(1.5, v["time_ms"]["p10"]);
  EXPECT_EQ(2.5, v["time_ms"]["p90"]);
  EXPECT_EQ(100, v["time_ms"]["samples"]);
  EXPECT_DOUBLE_EQ(6.0, v["tflops"]);
  EXPECT_DOUBLE_EQ(50.0, v["percent_of_cublas"]);
  EXPECT_NEAR(0.5605, v["percent_of_peak"], 0.0001);
  EXPECT_EQ(5.5, v["sustained"]["tflops"]);
  EXPECT_EQ(200, v["registers"]);
  EXPECT_EQ(49664, v["shared_bytes"]);
  EXPECT_EQ(256, v["threads"]);
  EXPECT_EQ(0.125, v["occupancy"]);
  EXPECT_DOUBLE_EQ(12.0, j["cublas"]["tflops"]);
  EXPECT_EQ("13.1.0", j["cublas"]["version"]);
}

PowerReport power_of(const std::string& contender) {
  const PowerUse bursts{40, 500.5, 1700, 0.25, 0, 0}, sustained{80, 690, 1400, 1, 0.125, 0.0625};
  return {"", "instant", 700, {{contender, {800, bursts}, {650, sustained}}}};
}

TEST(Report, PowerIsByContenderAndPace) {
  EXPECT_FALSE(nlohmann::json::parse(to_json(sample()))["variants"][1].contains("power"));
  Report r = sample();
  r.variants[1].power = power_of("cublas");
  const auto power = nlohmann::json::parse(to_json(r))["variants"][1]["power"];
  EXPECT_EQ("instant", power["sensor"]);
  EXPECT_EQ(700, power["limit_watts"]);
  EXPECT_EQ(40, power["cublas"]["bursts"]["samples"]);
  EXPECT_EQ(500.5, power["cublas"]["bursts"]["watts"]);
  EXPECT_EQ(0.25, power["cublas"]["bursts"]["power_cap"]);
  EXPECT_EQ(650, power["cublas"]["sustained"]["tflops"]);
  EXPECT_EQ(1400, power["cublas"]["sustained"]["sm_mhz"]);
  EXPECT_EQ(0.125, power["cublas"]["sustained"]["hardware_slowdown"]);
  EXPECT_EQ(0.0625, power["cublas"]["sustained"]["thermal"]);
  EXPECT_NE(to_table(r).find("cublas  in bursts 800 TFLOP/s, 500 W, 1700 MHz, power cap 25%; "
                             "without rests 650 TFLOP/s, 690 W, 1400 MHz, power cap 100%"),
            std::string::npos)
      << to_table(r);
}

TEST(Report, PowerThatCannotBeSampledIsSaid) {
  Report r = sample();
  r.variants[1].power = PowerReport{"no library"};
  const auto power = nlohmann::json::parse(to_json(r))["variants"][1]["power"];
  EXPECT_EQ(nlohmann::json({{"unavailable", "no library"}}), power);
  EXPECT_NE(to_table(r).find("sample: no power: no library"), std::string::npos);
  r.variants[1].power = power_of("stage");
  r.variants[1].power->contenders[0].bursts.use = {};
  const auto run = nlohmann::json::parse(to_json(r))["variants"][1]["power"]["stage"]["bursts"];
  EXPECT_EQ(nlohmann::json({{"samples", 0}, {"tflops", 800.0}}), run);
  EXPECT_NE(to_table(r).find("in bursts no sample"), std::string::npos);
}

TEST(Report, DataAreSaid) {
  Report r = sample();
  EXPECT_EQ("random", nlohmann::json::parse(to_json(r))["problem"]["data"]);
  EXPECT_EQ(to_table(r).find("A and B"), std::string::npos);
  for (const auto& [data, text] :
       {std::pair{Data::EXACT, "small integers; results must be equal\n"},
        std::pair{Data::ZEROS, "zeros; results must be equal, which proves little"},
        std::pair{Data::CONSTANT, "0.1875 everywhere; results must be equal, which"}}) {
    r.data = data;
    const auto j = nlohmann::json::parse(to_json(r));
    EXPECT_EQ(name(data), j["problem"]["data"].get<std::string>());
    EXPECT_EQ("exact", j["variants"][0]["check"]["mode"]);
    EXPECT_NE(to_table(r).find(text), std::string::npos) << to_table(r);
  }
}

TEST(Report, SumsAndEpilogueAreSaidWhereTheyAreNotThoseOfAProductAlone) {
  Report report = sample();
  EXPECT_FALSE(nlohmann::json::parse(to_json(report))["problem"].contains("sums"));
  EXPECT_FALSE(nlohmann::json::parse(to_json(report))["problem"].contains("epilogue"));
  EXPECT_EQ(to_table(report).find("C = "), std::string::npos);
  report.sums = Sums::PROMOTED;
  report.epilogue = {0.5f, 2, true, false, Scale::ROW, Activation::SILU};
  const auto problem = nlohmann::json::parse(to_json(report))["problem"];
  EXPECT_EQ("promoted", problem["sums"]);
  EXPECT_EQ((nlohmann::json{{"alpha", 0.5},
                            {"beta", 2.0},
                            {"bias", true},
                            {"residual", false},
                            {"scale", "row"},
                            {"activation", "silu"}}),
            problem["epilogue"]);
  EXPECT_NE(to_table(report).find("  sums: promoted\n"), std::string::npos);
  EXPECT_NE(to_table(report).find("  C = silu(0.5 * row_scale * A * B + 2 * addend + bias)\n"),
            std::string::npos);
}

TEST(Report, TheLayoutIsSaidWhereItIsNotNN) {
  Report report = sample();
  EXPECT_FALSE(nlohmann::json::parse(to_json(report))["problem"].contains("layout"));
  EXPECT_EQ(to_table(report).find("layout"), std::string::npos);
  report.layout = {true, false};
  EXPECT_EQ("TN", nlohmann::json::parse(to_json(report))["problem"]["layout"]);
  EXPECT_NE(to_table(report).find("  layout TN: A is stored as K x M, B as K x N\n"),
            std::string::npos);
}

TEST(Report, GroupsAreSaidByTheirRows) {
  Report report = sample();
  EXPECT_FALSE(nlohmann::json::parse(to_json(report))["problem"].contains("groups"));
  EXPECT_EQ(to_table(report).find("groups"), std::string::npos);
  report.ends = {64, 64, 200};
  EXPECT_EQ((std::vector<int>{64, 0, 136}),
            nlohmann::json::parse(to_json(report))["problem"]["groups"]);
  EXPECT_NE(to_table(report).find("  3 groups of 64, 0, 136 rows, a B for each\n"),
            std::string::npos);
  EXPECT_NE(to_table(report).find(", group by group: "), std::string::npos);
}

TEST(Report, TheBestOfCublasLtIsBesideCublas) {
  EXPECT_FALSE(nlohmann::json::parse(to_json(sample())).contains("best_cublaslt"));
  EXPECT_EQ(to_table(sample()).find("% best"), std::string::npos);
  Report r = sample();
  r.best = BestOfCublasLt{37, "#5 (id 66)", {"#7 (id 3): row 1 is wrong"}};
  for (VariantReport& v : r.variants) {
    v.best = Timing{0.5, 0.4, 0.6, 100};
    v.sustained->percent_of_best = 43;
  }
  const auto j = nlohmann::json::parse(to_json(r));
  EXPECT_DOUBLE_EQ(50.0, j["variants"][1]["percent_of_cublas"]);
  EXPECT_DOUBLE_EQ(25.0, j["variants"][1]["percent_of_best"]);
  EXPECT_EQ(43, j["variants"][1]["sustained"]["percent_of_best"]);
  VariantReport slower = r.variants[1];
  slower.best = Timing{4, 4, 4, 100};  // than cuBLAS's own choice
  EXPECT_DOUBLE_EQ(50.0, *percent_of_best(slower));
  EXPECT_EQ(37, j["best_cublaslt"]["algorithms"]);
  EXPECT_EQ("#5 (id 66)", j["best_cublaslt"]["algorithm"]);
  EXPECT_EQ("#7 (id 3): row 1 is wrong", j["best_cublaslt"]["left_out"][0]);
  EXPECT_EQ(0.4, j["best_cublaslt"]["time_ms"]["p10"]);
  EXPECT_DOUBLE_EQ(24.0, j["best_cublaslt"]["tflops"]);
  const std::string table = to_table(r);
  EXPECT_NE(table.find("best of 37 algorithms of cublasLt: 0.5000 ms, 24.00 TFLOP/s: #5 (id 66)"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("LEFT OUT of cublasLt: #7 (id 3): row 1 is wrong"), std::string::npos);
  EXPECT_NE(table.find("    50.0    25.0"), std::string::npos) << table;
  EXPECT_NE(table.find("    45.0    43.0"), std::string::npos) << table;
}

TEST(Report, NoRightAlgorithmOfCublasLtIsSaid) {
  Report r = sample();
  r.best = BestOfCublasLt{1, "", {"#0 (id 3): row 1 is wrong"}};
  EXPECT_FALSE(nlohmann::json::parse(to_json(r))["best_cublaslt"].contains("time_ms"));
  EXPECT_NE(to_table(r).find("of 1 algorithms of cublasLt none is right"), std::string::npos);
}

TEST(Report, WhatWasNotMeasuredIsAbsent) {
  Report r = sample();
  for (VariantReport& v : r.variants) {
    v.check.reset();
    v.time.reset();
    v.cublas.reset();
    v.sustained.reset();
  }
  const auto j = nlohmann::json::parse(to_json(r));
  EXPECT_FALSE(j["variants"][0].contains("check"));
  EXPECT_FALSE(j["variants"][0].contains("time_ms"));
  EXPECT_FALSE(j.contains("cublas"));
  EXPECT_NE(to_table(r).find("off"), std::string::npos);
}

TEST(Report, AKernelOfWhichNothingIsKnown) {
  Report r = sample();
  r.variants[0].kernel.reset();
  EXPECT_FALSE(nlohmann::json::parse(to_json(r))["variants"][0].contains("registers"));
  EXPECT_NE(to_table(r).find("unknown    unknown  unknown      unknown"), std::string::npos)
      << to_table(r);
}

TEST(Report, NaNErrorSurvivesJson) {
  Report r = sample();
  r.variants[0].check->max_error = std::nan("");
  EXPECT_EQ("nan", nlohmann::json::parse(to_json(r))["variants"][0]["check"]["max_error"]);
}

TEST(Report, FormatsAreTheReports) {
  Report r = sample();
  r.input = "bf16", r.accumulate = "fp24", r.output = "fp8";
  const auto problem = nlohmann::json::parse(to_json(r))["problem"];
  EXPECT_EQ("bf16", problem["input"]);
  EXPECT_EQ("fp24", problem["accumulate"]);
  EXPECT_EQ("fp8", problem["output"]);
}

TEST(Report, UnknownPeakIsSaid) {
  for (const auto& unknown : {std::pair{999, "fp16"}, std::pair{90, "fp12"}}) {
    Report r = sample();
    r.device.sm = unknown.first;
    r.input = unknown.second;
    EXPECT_TRUE(nlohmann::json::parse(to_json(r))["device"]["peak_tflops"].is_null());
    EXPECT_NE(to_table(r).find("unknown"), std::string::npos);
  }
}

// Of the H200: 132 multiprocessors, 1980 MHz, 256 and 4096 operations a clock.
TEST(Report, PeakIsOfThePipeThatTheInputTakes) {
  const Device device = sample().device;
  EXPECT_NEAR(66.9, *peak_tflops(device, "fp32"), 0.1);
  EXPECT_NEAR(1070.5, *peak_tflops(device, "fp16"), 0.1);
}

TEST(Report, AVariantIsRightWhenItsCheckIsAndNothingWasFound) {
  VariantReport v = sample().variants[0];
  EXPECT_TRUE(v.ok());
  v.check->ok = false;
  EXPECT_FALSE(v.ok());
  v.check->ok = true;
  v.findings = {"a race"};
  EXPECT_FALSE(v.ok());
  v.check.reset();
  EXPECT_FALSE(v.ok());
  v.findings.clear();
  EXPECT_TRUE(v.ok());
}

// ncu's counters of loads and stores have neither another block's shared memory, nor what copies
// and boxes write, nor what wgmma reads.
TEST(Report, TotalsAreThoseOfLanes) {
  std::vector<MemoryRow> rows;
  for (const char* op :
       {"load", "store", "remote load", "remote store", "copy", "tma load", "tma store", "wgmma"})
    for (const bool shared : {false, true}) {
      MemoryRow& row = rows.emplace_back();
      row.op = op;
      row.shared = shared;
      row.requests = 1;
      row.cost = 8;
      row.ideal = 2;
    }
  std::map<std::string, uint64_t> totals;
  for (const auto& [name, total] : memory_totals(rows)) totals[name] = total;
  for (const std::string op : {"ld", "st"}) {
    EXPECT_EQ(1u, totals.at("l1tex__t_requests_pipe_lsu_mem_global_op_" + op + ".sum"));
    EXPECT_EQ(8u, totals.at("l1tex__t_sectors_pipe_lsu_mem_global_op_" + op + ".sum"));
    EXPECT_EQ(8u, totals.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" + op + ".sum"));
    EXPECT_EQ(6u, totals.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" + op + ".sum"));
  }
}

TEST(Report, TableSaysWhatWentWrong) {
  Report r = sample();
  EXPECT_EQ(to_table(r).find("WRONG"), std::string::npos);
  EXPECT_NE(to_table(r).find("slow: only 7 samples"), std::string::npos);
  r.variants[1].check->ok = false;
  r.variants[1].check->message = "row 3, column 4";
  EXPECT_NE(to_table(r).find("WRONG sample: row 3, column 4"), std::string::npos);
  r.variants[0].findings = {"a race"};
  EXPECT_NE(to_table(r).find("FOUND slow: a race"), std::string::npos);
}

}  // namespace
}  // namespace ladder::harness
