// The choice of 15_chosen_by_cost with the committed tables, against an evaluation of the model
// that shares no line with it; and what bench/tune makes of times.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "library/plan.h"
#include "parts/even_rows.h"
#include "tune/probes.h"
#include "tune/tunables.h"

namespace ladder::tune {
namespace {

using harness::Shape;
using tuned::Candidate;
using tuned::Constants;
using Json = nlohmann::json;
using Problem = Gemm<half, half>;

Problem problem_of(Shape s) {
  const auto ld = [](int width) { return (width + 7) / 8 * 8; };
  return {s.m, s.n, s.k, nullptr, ld(s.k), nullptr, ld(s.n), nullptr, ld(s.n)};
}

const std::vector<Shape> SHAPES = {{512, 512, 512},      {768, 768, 768},     {1000, 1000, 1000},
                                   {1024, 1024, 1024},   {1536, 1536, 1536},  {2048, 2048, 2048},
                                   {3000, 3000, 3000},   {5000, 5000, 5000},  {4095, 4097, 4093},
                                   {4096, 4096, 4096},   {8192, 8192, 8192},  {8192, 1280, 8192},
                                   {8192, 8192, 1024},   {4096, 11008, 4096}, {4096, 4096, 11008},
                                   {512, 4096, 14336},   {128, 4096, 4096},   {64, 4096, 4096},
                                   {16, 4096, 4096},     {16, 11008, 4096},   {1, 4096, 4096},
                                   {256, 256, 16384},    {1, 1, 1},           {1, 100000, 8},
                                   {100000, 1, 100000},  {7, 131072, 4096},   {131072, 131072, 64},
                                   {32768, 32768, 32768}};

// Whether a stage has it, which all have that have no more heights and no large tiles in parts.
bool is_of_a_stage(const Json& c) {
  const int BM = c.at("BM"), BN = c.at("BN"),
            pairs = c.at("down").get<int>() * c.at("across").get<int>();
  const std::string stage = c.at("stage");
  if (stage == "14") return BM != 72 && (c.at("split") == 1 || BM <= 64 || BN == 64);
  if (stage == "13b") return BN != 192 || BM == 128;
  const std::set<std::pair<int, int>> more = {{88, 128}, {112, 128}, {88, 256},  {136, 256},
                                              {80, 128}, {120, 128}, {232, 128}, {120, 256}};
  return stage != "13" || pairs > 1 || more.count({BM, BN}) == 0;
}

// A table as ./ladder tune keeps it, without the library's own: a line of the GPU, then one for
// each candidate.
struct Table {
  std::string name;
  Json json;
};
std::vector<Table> tables() {
  std::vector<Table> all;
  for (const auto& entry : std::filesystem::directory_iterator(LADDER_RESULTS)) {
    std::ifstream file(entry.path() / "tune.jsonl");
    std::string line;
    if (!std::getline(file, line)) continue;
    Json json = Json::parse(line);
    while (std::getline(file, line)) {
      const Json candidate = Json::parse(line).at("candidates").at(0);
      if (candidate.at("layout") == "NN" && is_of_a_stage(candidate))
        json.at("candidates").push_back(candidate);
    }
    all.push_back({entry.path().filename().string(), json});
  }
  return all;
}

// What its line in the JSON says that a candidate takes.
double nanoseconds(const Json& c, Shape s, int multiprocessors) {
  const auto of = [&](const char* key) { return c.at(key).get<double>(); };
  const double cluster = of("down") * of("across") * of("split");
  const std::map<double, double> held = {{1, 132}, {2, 66}, {3, 39}, {4, 30}, {8, 15}};
  const double clusters = std::floor(held.at(cluster) * multiprocessors / 132);
  const double at_once = std::max(1.0, clusters) * of("resident");
  const double tiles =
      std::ceil(s.m / (of("BM") * of("down"))) * std::ceil(s.n / (of("BN") * of("across")));
  const double steps = std::ceil(std::ceil(s.k / 64.0) / of("split"));
  const auto off = [](int width) { return (width + 7) / 8 % 8 == 0 ? 0.0 : 1.0; };
  const double rows = of("BM") * of("down"), columns = of("BN") * of("across");
  const double part = (off(s.k) * rows + off(s.n) * columns) / (rows + columns);
  const double on_lines =
      s.m <= rows ? std::min(of("step_ns"), of("step_in_row_ns")) : of("step_ns");
  const double of_all = on_lines * (1 - part) + of("step_off_lines_ns") * part;
  const double waves = std::ceil(tiles / at_once);
  const double asked = (of("BM") / of("across") + of("BN") / of("down")) / (of("BM") + of("BN"));
  const double alone = (1.25 + part * asked / 2) * of("step_alone_ns");
  const double step = std::max(std::min(of_all, alone), of_all * tiles / (waves * at_once));
  const std::string stage = c.at("stage");
  const double longer_later = stage == "13b" ? 1.015 : 1.0;
  const double work =
      (1 + (waves - 1) * of("later") * longer_later) * steps * step + (waves - 1) * of("tile_ns");
  const double reads_of_b = 0.9 + 0.1 * std::ceil(s.m / rows);
  const bool is_even = stage == "13" || stage == "13b";
  const double across = std::ceil(s.n / columns),
               below = is_even ? 0 : std::ceil(s.m / rows) * rows - s.m;
  const double bytes = 2.0 * s.m * s.k + 2.0 * reads_of_b * s.k * s.n + 0.8 * across * below * s.k +
                       2.0 * s.m * s.n + 224 * s.m * std::ceil(s.n / of("BN"));
  const double drawn = std::min(1.0, 2 * tiles * cluster / multiprocessors);
  const double reading = bytes / (of("bytes_per_ns") * drawn);
  const double memory =
      stage == "14" ? reading + (waves - 1) * of("tile_ns") : reading * (drawn < 1 ? 0.94 : 1.02);
  const double longer = std::max(work, memory), shorter = std::min(work, memory);
  const double together = longer * (1 + 0.12 * std::pow(shorter / longer, 6));
  const double first =
      0.35 * std::min(std::ceil(s.m / rows), at_once) * std::min(s.k, 64) / std::ceil(s.n / 64.0);
  const double cut = stage != "14" && s.n % 8 != 0 ? 600 : 0;
  const double full = std::min(1.0, tiles * of("resident") / at_once);
  const double around = of("start_alone_ns") * (1 - full) + (of("start_ns") + of("tile_ns")) * full;
  const auto power = [&](const char* key, double base) {
    return c.contains(key) ? of(key) * std::log(base) : 0.0;
  };
  const double change = power("by_busy", tiles / (waves * at_once)) +
                        power("by_steps", steps / 32) + power("by_rows", std::ceil(s.m / rows));
  const bool is_as_used = s.m > 8 && 2.0 * s.k * s.n > 8e6;
  const double times =
      is_as_used ? of("times") * std::exp(std::max(-0.2, std::min(0.2, change))) : 1;
  return times * (around + first + together + cut);
}

const Json* find(const Json& table, const Candidate& c) {
  for (const Json& row : table.at("candidates"))
    if (row.at("stage") == tuned::STAGES[static_cast<int>(c.kernel)] && row.at("BM") == c.BM &&
        row.at("BN") == c.BN && row.at("down") == c.down && row.at("across") == c.across &&
        row.at("split") == c.split && row.at("resident") == c.resident)
      return &row;
  return nullptr;
}

TEST(Tables, HaveAllCandidates) {
  ASSERT_GE(tables().size(), 1U);
  const std::vector<Tunable> candidates = tunables();
  for (const Table& table : tables()) {
    for (const Tunable& c : candidates)
      EXPECT_NE(find(table.json, c.candidate), nullptr)
          << table.name << " has no " << tuned::name(c.candidate) << ": ./ladder tune";
    EXPECT_EQ(table.json.at("candidates").size(), candidates.size()) << table.name;
  }
}

TEST(Candidates, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Tunable& c : tunables())
    EXPECT_TRUE(names.insert(tuned::name(c.candidate)).second) << tuned::name(c.candidate);
}

void expect_cheapest(const Table& table, Shape s, int multiprocessors) {
  const std::string gpu = table.json.at("gpu");
  double least = INFINITY;
  for (const Json& c : table.json.at("candidates"))
    least = std::min(least, nanoseconds(c, s, multiprocessors));
  const Candidate chosen = choose(problem_of(s), gpu, multiprocessors);
  const Json* const row = find(table.json, chosen);
  ASSERT_NE(row, nullptr);
  // The header has four digits of each constant.
  EXPECT_LE(nanoseconds(*row, s, multiprocessors), least * 1.001)
      << s.m << "x" << s.n << "x" << s.k << " on " << multiprocessors << ", " << gpu;
  // The library, which goes through the table and not through the kernels, takes the same where
  // both have it.
  if (!library::is_allowed(chosen, library::Way::PRODUCT, library::Type::FP16, false)) return;
  const library::Plan plan = library::plan(
      problem_of(s), library::Type::FP16, {gpu, 90, multiprocessors, true, true, true},
      library::Tiles::FIRST_DONE, [](library::Way, const Problem&) { return uint64_t{0}; });
  if (!tuned::is_of_library(plan.tile->candidate)) {
    EXPECT_EQ(tuned::name(chosen), tuned::name(plan.tile->candidate));
  }
}

// Of no tile more rows than it can have, of none of them no row, and all rows are in one.
TEST(EvenRows, AreAllRows) {
  for (const int BM : {32, 64, 72, 152, 256})
    for (const int down : {1, 2})
      for (int M = 1; M < 6000; ++M) {
        const int rows = even_rows(M, BM, down);
        const int tiles = (M + down * BM - 1) / (down * BM) * down;
        ASSERT_TRUE(rows > 0 && rows <= BM) << M << " " << BM;
        ASSERT_GE(tiles * rows, M) << M << " " << BM;
        ASSERT_TRUE(rows == BM || (tiles - 1) * rows < M) << M << " " << BM;
      }
  EXPECT_EQ(even_rows(130, 64, 1), 44);
  EXPECT_EQ(even_rows(8192, 176, 1), 175);
}

TEST(Choice, IsTheCheapest) {
  for (const Table& table : tables())
    for (const Shape s : SHAPES)
      for (const int multiprocessors : {132, 114, 5, 1}) expect_cheapest(table, s, multiprocessors);
}

TEST(Choice, IsTheCheapestAtRandomShapes) {
  std::mt19937 random(15);
  const auto size = [&] {
    return static_cast<int>(std::exp2(std::uniform_real_distribution(0.0, 15.0)(random)));
  };
  const std::vector<Table> all = tables();
  for (int i = 0; i < 500; ++i)
    for (const Table& table : all) expect_cheapest(table, {size(), size(), size()}, 132);
}

TEST(Choice, OfAnUnknownGpuIsTheFirstTables) {
  EXPECT_EQ(tuned::remark("NVIDIA A1"),
            "no constants for NVIDIA A1: those of NVIDIA H200 are taken; ./ladder tune measures "
            "its own");
  for (const Shape s : SHAPES)
    EXPECT_EQ(tuned::name(choose(problem_of(s), "NVIDIA A1", 132)),
              tuned::name(choose(problem_of(s), "NVIDIA H200", 132)));
}

TEST(Choice, OfAKnownGpuNeedsNoRemark) {
  for (const Table& table : tables()) EXPECT_EQ(tuned::remark(table.json.at("gpu")), "");
}

TEST(Choice, ExplainsItselfFastestFirst) {
  for (const Shape s : SHAPES) {
    const std::string text = explain(problem_of(s), "NVIDIA H200", 132, 3);
    const Candidate chosen = choose(problem_of(s), "NVIDIA H200", 132);
    EXPECT_EQ(text.find(tuned::name(chosen) + " "), 0U) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  }
}

// ---- What bench/tune makes of times ------------------------------------------------------------

TEST(Probes, AreWholeWaves) {
  for (const int multiprocessors : {132, 114, 78})
    for (const Tunable& t : tunables())
      for (int probe = 0; probe < PROBES; ++probe) {
        const Candidate& c = t.candidate;
        const Shape s = shape_of(c, static_cast<Probe>(probe), multiprocessors);
        const bool is_alone = probe == SHORT_ALONE || probe == LONG_ALONE;
        const auto e = tuned::estimate(
            problem_of(s), c, Constants{0, 0, 10, 10, 20, 1, 1, 0, 1e9, 1}, multiprocessors);
        const std::string what = tuned::name(c) + " " + PROBE_NAMES[static_cast<size_t>(probe)];
        EXPECT_EQ(e.waves, probe == WAVES || probe == LONG_WAVES ? SOME_WAVES : 1) << what;
        EXPECT_EQ(e.steps, probe == LONG || probe == LONG_WAVES || probe == LONG_OFF ||
                                   probe == LONG_ROW || probe == LONG_ALONE
                               ? MANY_STEPS
                               : FEW_STEPS)
            << what;
        const int places = is_alone ? 1 : tuned::places(c, multiprocessors);
        const bool is_off = probe == SHORT_OFF || probe == LONG_OFF;
        // An odd number of tiles that are half a line wide does not end on one.
        const bool is_odd = places * c.BN * c.across % 64 != 0;
        EXPECT_EQ(s.n % 64 != 0, is_off || is_odd) << what;
        if (!is_alone && (is_off || !is_odd)) {
          EXPECT_EQ(e.step, is_off ? 20 : 10) << what;
        }
        EXPECT_EQ(int64_t{(s.m + c.BM * c.down - 1) / (c.BM * c.down)} *
                      ((s.n + c.BN * c.across - 1) / (c.BN * c.across)),
                  e.waves * places)
            << what;
      }
}

// What is measured where a candidate takes exactly what the model says, and one cluster alone has
// the highest clock, which the model does not expect of any product.
std::vector<ProbeTimes> times_of(const std::vector<Candidate>& candidates,
                                 const std::vector<Constants>& truth) {
  std::vector<ProbeTimes> ns(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i)
    for (size_t probe = 0; probe < PROBES; ++probe) {
      const Shape s = shape_of(candidates[i], static_cast<Probe>(probe), 132);
      const auto e = tuned::estimate(problem_of(s), candidates[i], truth[i], 132);
      const bool is_alone = probe == SHORT_ALONE || probe == LONG_ALONE;
      ns[i][probe] = is_alone
                         ? truth[i].start_alone + static_cast<double>(e.steps) * truth[i].step_alone
                         : e.total;
    }
  return ns;
}

TEST(Probes, ShowTheConstants) {
  // The first two never wait for memory, and then their steps in a row are as long as all. The
  // third does where its tiles lie in a row. Elsewhere what it waits for lengthens its work by up
  // to 1%, which is not told from the work.
  const std::vector<Candidate> candidates = {{tuned::Kernel::FEW_ROWS, 16, 64, 1, 1, 2, 1},
                                             {tuned::Kernel::FIT_THE_WAVES, 176, 256, 1, 1, 1, 1},
                                             {tuned::Kernel::FEW_ROWS, 16, 64, 1, 1, 2, 1}};
  const std::vector<Constants> truth = {{4321, 4800, 200, 200, 240, 140, 1.2, 700, 40000},
                                        {5678, 6500, 830, 830, 990, 820, 1.1, 1500, 40000},
                                        {4321, 4800, 100, 271.4, 120, 70, 1.2, 700, 4000}};
  const std::vector<Constants> found = constants_of(candidates, times_of(candidates, truth), 132);
  const auto expect_near = [](double found, double truth) {
    EXPECT_NEAR(found, truth, 1e-3 * truth);
  };
  for (size_t i = 0; i < 2; ++i) {
    expect_near(found[i].start, truth[i].start);
    expect_near(found[i].start_alone, truth[i].start_alone);
    expect_near(found[i].step, truth[i].step);
    expect_near(found[i].step_in_row, truth[i].step_in_row);
    expect_near(found[i].step_off_lines, truth[i].step_off_lines);
    expect_near(found[i].step_alone, truth[i].step_alone);
    expect_near(found[i].later, truth[i].later);
    expect_near(found[i].tile, truth[i].tile);
    EXPECT_EQ(what_is_wrong(found[i]), "");
  }
  expect_near(found[2].step_in_row, truth[2].step_in_row);
  expect_near(found[2].bytes_per_ns, truth[2].bytes_per_ns);
}

TEST(Probes, DoNotHideNonsense) {
  EXPECT_EQ(what_is_wrong({5, 5, -1, 1, 1, 1, 1, 0, 1}), "a step takes no time");
  EXPECT_EQ(what_is_wrong({5, 5, 1, 1, 1, -1, 1, 0, 1}), "a step takes no time");
  EXPECT_EQ(what_is_wrong({-5, 5, 1, 1, 1, 1, 1, 0, 1}), "the start takes no time");
  EXPECT_EQ(what_is_wrong({5, 5, 1, 1, 1, 1, 1, 0, -4000}), "nothing comes from memory");
  EXPECT_EQ(what_is_wrong({5, 5, 1, 1, 1, 1, 1, NAN, 1}), "a constant is no number");
}

}  // namespace
}  // namespace ladder::tune
