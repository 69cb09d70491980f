// What the CPU device predicts equals what ncu counted on an H200, for every variant at 128^3.
// tests/data/ncu_h200.json is written by scripts/ncu_counters.py.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::json;

Json read(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

// Where prediction and measurement may differ, and why.
struct Exception {
  const char *stage, *variant, *counter;  // "" for any variant
  enum { ZERO_OR_NOT, WITHIN_3_PERCENT, FEWER } rule;
  const char* reason;
};
constexpr const char* MERGED =
    "ptxas merges neighbouring 4-byte loads of sA, whose k is unrolled, into loads of 16 bytes";
constexpr const char* ARBITRATION =
    "ncu adds the few cycles in which reads of the staged results meet other traffic of the cache";
constexpr const char* REPEATED =
    "lanes past M or N repeat an address, and a 16-byte cp.async counts its sector again for each "
    "pair";
constexpr const char* OFF_THE_GRID =
    "a 16-byte cp.async to a padded row that is off the 32-byte grid fetches its sector alone";
constexpr Exception EXCEPTIONS[] = {
    {"02_smem_tiled", "smem_tiled", "wavefronts_mem_shared_op_ld", Exception::ZERO_OR_NOT, MERGED},
    {"03_transposed_b", "conflicted", "mem_shared_op_ld", Exception::ZERO_OR_NOT, MERGED},
    {"03_transposed_b", "padded", "wavefronts_mem_shared_op_ld", Exception::ZERO_OR_NOT, MERGED},
    {"04_register_blocked", "scalar", "wavefronts_mem_shared_op_ld", Exception::ZERO_OR_NOT,
     MERGED},
    {"04_register_blocked", "warp_tiled", "mem_shared_op_ld", Exception::WITHIN_3_PERCENT,
     ARBITRATION},
    {"04_register_blocked", "register_blocked", "mem_shared_op_ld", Exception::WITHIN_3_PERCENT,
     ARBITRATION},
    {"05_cp_async", "bk_16", "sectors_pipe_lsu_mem_global_op_ld", Exception::FEWER, REPEATED},
    {"05_cp_async", "eight_buffers", "sectors_pipe_lsu_mem_global_op_ld", Exception::FEWER,
     REPEATED},
    {"05b_split_k", "", "mem_shared_op_ld", Exception::WITHIN_3_PERCENT, ARBITRATION},
    {"06_wmma", "", "mem_shared_op_ld", Exception::WITHIN_3_PERCENT, ARBITRATION},
    {"06_wmma", "unpadded", "sectors_pipe_lsu_mem_global_op_ld", Exception::FEWER, REPEATED},
    {"06_wmma", "shallow", "sectors_pipe_lsu_mem_global_op_ld", Exception::FEWER, OFF_THE_GRID},
    {"06_wmma", "wmma", "sectors_pipe_lsu_mem_global_op_ld", Exception::FEWER, OFF_THE_GRID},
    {"07_mma_sync", "", "sectors_pipe_lsu_mem_global_op_ld", Exception::FEWER, REPEATED},
};

const Exception* exception_for(const std::string& stage, const std::string& variant,
                               const std::string& counter) {
  for (const Exception& e : EXCEPTIONS)
    if (stage == e.stage && (*e.variant == 0 || variant == e.variant) &&
        counter.find(e.counter) != std::string::npos)
      return &e;
  return nullptr;
}

// `scale`: what WITHIN_3_PERCENT refers to.
void expect_counter(const std::string& name, const Exception* exception, double predicted,
                    double measured, double scale) {
  if (exception == nullptr) {
    EXPECT_EQ(predicted, measured) << name;
    return;
  }
  // An exception that is not needed any more should go.
  switch (exception->rule) {
    case Exception::ZERO_OR_NOT:
      EXPECT_EQ(predicted == 0, measured == 0) << name << " although " << exception->reason;
      break;
    case Exception::WITHIN_3_PERCENT:
      EXPECT_NEAR(predicted, measured, 0.03 * scale) << name << ", " << exception->reason;
      break;
    case Exception::FEWER:
      EXPECT_LT(predicted, measured) << name << " although " << exception->reason;
      break;
  }
}

class Counters : public testing::TestWithParam<std::string> {};

TEST_P(Counters, EqualThoseOfNcu) {
  const std::string stage = GetParam();
  const std::string report = testing::TempDir() + "counters_" + std::to_string(getpid()) + ".json";
  const std::string command =
      LADDER_CPU_STAGES "/" + stage + " --size 128 --json " + report + " > /dev/null";
  ASSERT_EQ(0, std::system(command.c_str())) << command;
  const Json predicted = read(report), measured = read(LADDER_NCU_COUNTERS)["counters"][stage];
  std::remove(report.c_str());
  ASSERT_EQ(predicted["variants"].size(), measured.size());
  for (const Json& variant : predicted["variants"]) {
    const std::string name = variant["name"];
    ASSERT_TRUE(measured.contains(name)) << name;
    ASSERT_EQ(8u, measured[name].size());
    for (const auto& [counter, value] : measured[name].items()) {
      // Conflicts are a part of the wavefronts.
      const std::string op = counter.substr(counter.size() - std::strlen("op_ld.sum"));
      const bool conflicts = counter.find("bank_conflicts") != std::string::npos;
      const std::string scale =
          conflicts ? "l1tex__data_pipe_lsu_wavefronts_mem_shared_" + op : counter;
      expect_counter(stage + " " + name + " " + counter, exception_for(stage, name, counter),
                     variant["totals"][counter], value, measured[name][scale]);
    }
  }
}

std::vector<std::string> measured_stages() {
  std::vector<std::string> names;
  const Json counters = read(LADDER_NCU_COUNTERS)["counters"];
  for (const auto& [stage, variants] : counters.items()) names.push_back(stage);
  return names;
}
INSTANTIATE_TEST_SUITE_P(H200, Counters, testing::ValuesIn(measured_stages()),
                         [](const auto& param) { return "stage_" + param.param; });

}  // namespace
