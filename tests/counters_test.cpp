// What the CPU device predicts equals what ncu counted on an H200, for every variant at every shape
// that has been measured. On a machine with ncu and that GPU
//   ./ladder counters build counters_shapes.json --shapes
// measures all of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/is_short.h"

namespace {

using Json = nlohmann::json;
using Counts = std::map<std::string, double>;

Json read(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

// The lines of the file are parts of one object.
const Json& measured() {
  static const Json all = [] {
    Json joined;
    std::ifstream file(LADDER_NCU_COUNTERS);
    for (std::string line; std::getline(file, line);) joined.merge_patch(Json::parse(line));
    return joined.at("counters_shapes");
  }();
  return all;
}

// Of one variant at one shape, by ncu's names.
Counts counted(const Json& values) {
  Counts result;
  for (size_t i = 0; i < values.size(); ++i)
    result[measured()["names"][i]] = values[i].get<double>();
  return result;
}

struct Product {
  int m, n, k;
  double products() const { return double(m) * n * k; }
};
Product shape_of(const std::string& text) {
  Product shape{};
  if (std::sscanf(text.c_str(), "%dx%dx%d", &shape.m, &shape.n, &shape.k) != 3)
    ADD_FAILURE() << text << " is no shape";
  return shape;
}

// How many counters there were, and for how many each rule was needed.
struct Tally {
  int all = 0, equal = 0, arbitration = 0, sunk = 0, multicast = 0;
};

const std::string WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_";
const std::string CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_";
const std::string BY_INSTRUCTION = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_";

// Wavefronts of loads that ptxas moves behind the condition under which what they read is stored:
// those of rows past M do not happen. The CPU compiler leaves them where the source has them.
constexpr const char* SUNK_INTO_STORES =
    "const float4 v = as_float4(sC[r * STAGED_PITCH + c_col]);";

double sunk_at_most(const Json& variant) {
  double wavefronts = 0;
  for (const Json& line : variant["memory"])
    if (line["text"] == SUNK_INTO_STORES)
      wavefronts += line["requests"].get<double>() * line["wavefronts_per_request"].get<double>();
  return wavefronts;
}

// The wavefronts of shared memory are compared with ncu's count by instruction. Its other count, of
// the hardware, also has the cycles in which an access meets other traffic of the cache: these are
// conflicts, too, and differ from run to run.
void compare_wavefronts(const std::string& what, const std::string& op, const Json& variant,
                        Counts ncu, Tally& tally) {
  const double predicted = variant["totals"][WAVEFRONTS + op + ".sum"];
  const double conflicts = variant["totals"][CONFLICTS + op + ".sum"];
  const double by_instruction =
      ncu[BY_INSTRUCTION + op + ".sum"] +
      ncu[BY_INSTRUCTION + (op == "op_ld" ? "op_ldsm" : "op_stsm") + ".sum"];
  const double hardware = ncu[WAVEFRONTS + op + ".sum"];
  const double sunk = op == "op_ld" ? sunk_at_most(variant) : 0;
  tally.all += 2;
  if (predicted == by_instruction)
    ++tally.equal;
  else
    ++tally.sunk;
  EXPECT_LE(by_instruction, predicted) << what << WAVEFRONTS << op;
  EXPECT_GE(by_instruction, predicted - sunk) << what << WAVEFRONTS << op;

  const double excess = ncu[CONFLICTS + op + ".sum"] - conflicts;
  if (excess == 0)
    ++tally.equal;
  else
    ++tally.arbitration;
  EXPECT_GE(excess, 0) << what << CONFLICTS << op;
  EXPECT_LE(excess, 0.03 * hardware + ncu["l1tex__data_bank_conflicts_type_arbitration.sum"])
      << what << CONFLICTS << op;
}

// TMA's multicast of rows that do not begin on lines of 128 bytes brings up to 12% more sectors
// than the same boxes without multicast; which ones is not known.
const std::string READ_SECTORS = "l1tex__m_xbar2l1tex_read_sectors.sum";

bool multicasts_off_the_lines(const Json& stage, const Product& shape) {
  const Json& features = stage["needs"]["features"];
  return std::find(features.begin(), features.end(), "clusters") != features.end() &&
         (shape.n + 7) / 8 * 8 % 64 != 0;
}

void compare(const std::string& what, const Json& variant, const Counts& ncu, bool multicast,
             Tally& tally) {
  for (const auto& [name, value] : variant["totals"].items()) {
    if (name.rfind(WAVEFRONTS, 0) == 0 || name.rfind(CONFLICTS, 0) == 0) continue;
    const auto counter = ncu.find(name);
    if (counter == ncu.end()) continue;
    ++tally.all;
    const double predicted = value;
    if (predicted == counter->second) {
      ++tally.equal;
    } else if (multicast && name == READ_SECTORS) {
      ++tally.multicast;
      EXPECT_LE(predicted, counter->second) << what << name;
      EXPECT_GE(predicted, 0.88 * counter->second) << what << name;
    } else {
      ADD_FAILURE() << what << name << " is " << predicted << ", not " << counter->second;
    }
  }
  for (const char* op : {"op_ld", "op_st"}) compare_wavefronts(what, op, variant, ncu, tally);
}

// What a kernel computes whose tiles are 128 x 128.
double in_whole_tiles(const Product& shape) {
  return Product{(shape.m + 127) / 128 * 128, (shape.n + 127) / 128 * 128, shape.k}.products();
}

// Those of which the device runs more than a tile of each are enough at a large shape. Without the
// slow tests, what takes a second or less of each stage, and of the ragged ones none that is thin.
bool runs_at(const Json& stage, const Product& shape) {
  if (ladder::harness::is_short())
    return in_whole_tiles(shape) < (1 << 22) && shape.m > 1 && shape.n > 1;
  const Json& features = stage["needs"]["features"];
  return shape.products() < (1 << 24) ||
         std::find(features.begin(), features.end(), "tma") != features.end();
}

Json stages() {
  const Json manifest = read(LADDER_MANIFEST);
  Json of_one_product = Json::array();
  for (const Json& stage : manifest["stages"])
    if (!stage.contains("harness")) of_one_product.push_back(stage);
  return of_one_product;
}

struct Entry {
  Json of_stage;
};
void PrintTo(const Entry& entry, std::ostream* out) {
  *out << entry.of_stage["name"].get<std::string>();
}

class Counters : public testing::TestWithParam<Entry> {};

TEST_P(Counters, EqualThoseOfNcu) {
  const Json& stage = GetParam().of_stage;
  const std::string name = stage["name"];
  const Json variants = measured()["counters"].value(name, Json::object());
  if (variants.empty()) GTEST_SKIP() << "not measured: " << name;
  Tally tally;
  std::set<std::string> names, not_measured;
  for (const auto& [text, values] : variants.begin()->items()) {
    const Product shape = shape_of(text);
    if (!runs_at(stage, shape)) continue;
    const std::string report =
        testing::TempDir() + "counters_" + std::to_string(getpid()) + ".json";
    const std::string command = LADDER_CPU_STAGES "/" + name + " --m " + std::to_string(shape.m) +
                                " --n " + std::to_string(shape.n) + " --k " +
                                std::to_string(shape.k) + " --json " + report + " > /dev/null";
    ASSERT_EQ(0, std::system(command.c_str())) << command;
    const Json predicted = read(report);
    std::remove(report.c_str());
    for (const Json& variant : predicted["variants"]) {
      const std::string its = variant["name"];
      names.insert(its);
      if (variants.contains(its))
        compare(name + " " + its + " " + text + " ", variant, counted(variants[its][text]),
                multicasts_off_the_lines(stage, shape), tally);
      else
        not_measured.insert(its);
    }
  }
  for (const auto& [variant, shapes] : variants.items())
    EXPECT_EQ(1u, names.count(variant)) << name << " has no variant " << variant << " any more";
  for (const std::string& variant : not_measured)
    std::cout << "not measured: " << name << " " << variant << "\n";
  std::cout << name << ": " << tally.equal << " of " << tally.all << " equal, " << tally.arbitration
            << " but for arbitration, " << tally.sunk << " but for loads that ptxas moves, "
            << tally.multicast << " but for multicast off the lines\n";
}

TEST(CountersOfNcu, AreOfStagesThatExist) {
  std::set<std::string> names;
  for (const Json& stage : stages()) names.insert(stage["name"]);
  for (const auto& [stage, variants] : measured()["counters"].items())
    EXPECT_EQ(1u, names.count(stage)) << stage;
}

std::vector<Entry> entries() {
  std::vector<Entry> all;
  for (const Json& stage : stages()) all.push_back({stage});
  return all;
}

// ctest shows what PrintTo() prints instead of a number.
INSTANTIATE_TEST_SUITE_P(H200, Counters, testing::ValuesIn(entries()));

}  // namespace
