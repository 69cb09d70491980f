// The tests of stages see what they are there for: planted_stage.cpp under stage_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>

namespace {

using Names = std::set<std::string>;

// The tests of a variant that pass, and those that fail, of those whose names match. All but the
// longest where nothing is said.
struct Outcome {
  Names passed, failed;
};
Outcome test(const std::string& variant, const std::string& names = "*-*tile_edges*") {
  const std::string suite = "00_planted." + variant + ".";
  const std::string command = "OMP_NUM_THREADS=1 " LADDER_PLANTED_STAGE
                              " --gtest_color=no --gtest_filter='" +
                              suite + names + "' 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), n);
  pclose(pipe);
  Outcome outcome;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t name = line.find(suite);
    if (name == std::string::npos) continue;
    std::string test = line.substr(name + suite.size());
    test = test.substr(0, test.find_first_of(" ,"));
    if (line.rfind("[       OK ]", 0) == 0) outcome.passed.insert(test);
    if (line.rfind("[  FAILED  ]", 0) == 0) outcome.failed.insert(test);
  }
  return outcome;
}

const char* const CONFIGURATIONS[] = {"_traced", "_forward", "_reverse"};

Names in_every_configuration(const std::string& test) {
  Names names;
  for (const char* suffix : CONFIGURATIONS) names.insert(test + suffix);
  return names;
}

TEST(Planted, NothingIsSeenInWhatIsRight) {
  for (const char* variant : {"right", "in_workspace"}) {
    const Outcome outcome = test(variant);
    EXPECT_EQ(Names{}, outcome.failed) << variant;
    EXPECT_EQ(27u, outcome.passed.size()) << variant;
  }
}

TEST(Planted, ZerosAreSeenAtTheSmallestShape) {
  const Outcome outcome = test("zeros", "smallest*");
  for (const std::string& name : in_every_configuration("smallest"))
    EXPECT_EQ(1u, outcome.failed.count(name)) << name;
}

TEST(Planted, OffsetsOf32BitsAreSeenByLargeOffsetsAlone) {
  for (const char* variant : {"offset_a", "offset_c", "step_b"})
    EXPECT_EQ(in_every_configuration("large_offsets"), test(variant).failed) << variant;
}

TEST(Planted, ARaceIsSeenWhereAccessesAreTraced) {
  const Outcome outcome = test("race", "primes*");
  EXPECT_EQ(1u, outcome.failed.count("primes_traced"));
  EXPECT_EQ(1u, outcome.passed.count("primes_forward"));
}

TEST(Planted, WritesPastTheWorkspaceAreSeen) {
  EXPECT_EQ(1u, test("past_workspace", "primes*").failed.count("primes_forward"));
}

TEST(Planted, AWorkspaceThatIsTooSmallHasToBeRefused) {
  EXPECT_EQ(in_every_configuration("refusals"), test("any_workspace", "refusals*").failed);
}

TEST(Planted, ConfigurationsAreTestedAsVariantsAre) {
  EXPECT_EQ(1u, test("configuration", "smallest*").failed.count("smallest_forward"));
}

}  // namespace
