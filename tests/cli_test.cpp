// The executables as a user meets them: what they print and how they exit.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace {

struct Outcome {
  int code;
  std::string text;  // stdout and stderr together
};

Outcome run(const std::string& executable, const std::string& arguments) {
  const std::string command = executable + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), n);
  return {WEXITSTATUS(pclose(pipe)), text};
}

void expect_one_line_and_code_2(const std::string& executable, const std::string& arguments) {
  const Outcome outcome = run(executable, arguments);
  EXPECT_EQ(2, outcome.code) << arguments;
  EXPECT_EQ(1, std::count(outcome.text.begin(), outcome.text.end(), '\n')) << outcome.text;
  EXPECT_EQ(0u, outcome.text.find("03_transposed_b: ")) << outcome.text;
}

std::string temporary_json() {
  return testing::TempDir() + "cli_test_" + std::to_string(getpid()) + ".json";
}

TEST(CliCpu, BadInputIsOneLineAndExitCode2) {
  for (const char* arguments : {"--m 0", "--sustained", "--profile", "--iterations 5", "--bogus",
                                "--json /nonexistent/x.json", "--size 2000000"})
    expect_one_line_and_code_2(LADDER_CPU_STAGE, arguments);
}

TEST(CliCpu, AStageThatNeedsHopperSaysSo) {
  const Outcome outcome = run(LADDER_CPU_HOPPER_STAGE, "--size 128");
  EXPECT_EQ(77, outcome.code);
  EXPECT_EQ(
      "09_wgmma: needs a GPU of compute capability 9.0; the CPU device has no TMA and no wgmma\n",
      outcome.text);
}

TEST(CliCpu, ReportsResultsAndMemoryTraffic) {
  const std::string json = temporary_json();
  const Outcome outcome =
      run(LADDER_CPU_STAGE, "--m 67 --n 131 --k 45 --variant conflicted --json " + json);
  EXPECT_EQ(0, outcome.code) << outcome.text;
  EXPECT_NE(outcome.text.find("conflicted  ok"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("<-- bank conflicts"), std::string::npos) << outcome.text;
  std::ifstream file(json);
  const auto report = nlohmann::json::parse(file);
  std::filesystem::remove(json);
  EXPECT_EQ("cpu", report["device"]["kind"]);
  const auto& variant = report["variants"][0];
  EXPECT_FALSE(variant.contains("time_ms"));
  EXPECT_TRUE(variant["findings"].empty());
  bool found = false;
  for (const auto& line : variant["memory"]) {
    if (line["array"] != "sB" || line["op"] != "store") continue;
    found = true;
    EXPECT_EQ(32, line["wavefronts_per_request"]);
    EXPECT_EQ(1, line["ideal_wavefronts"]);
    EXPECT_NE(line["text"].get<std::string>().find("sB[tx][ty] ="), std::string::npos);
    ASSERT_EQ(32u, line["sample"].size());
    EXPECT_EQ(128, line["sample"][1].get<int>() - line["sample"][0].get<int>());
  }
  EXPECT_TRUE(found);
}

TEST(CliCpu, NoMemoryLeavesTheReportOut) {
  const Outcome outcome = run(LADDER_CPU_STAGE, "--size 40 --exact --no-memory");
  EXPECT_EQ(0, outcome.code);
  EXPECT_EQ(outcome.text.find("l1tex"), std::string::npos) << outcome.text;
}

#ifdef LADDER_STAGE

Outcome stage(const std::string& arguments) {
  return run(LADDER_STAGE, arguments);
}

TEST(Cli, WithoutAGpuTheCpuExecutableIsNamed) {
  const Outcome outcome = stage("--size 1 --iterations 1");
  if (outcome.code == 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(77, outcome.code);
  EXPECT_NE(outcome.text.find("stages/cpu/03_transposed_b runs on any machine"), std::string::npos)
      << outcome.text;
}

TEST(Cli, BadInputIsOneLineAndExitCode2) {
  for (const char* arguments :
       {"--m 0", "--size x", "--size 99999999999999", "--bogus", "--variant nope", "--size 5 --k 3",
        "--iterations -3", "--json /nonexistent/x.json", "--json /tmp", "--exact --k 1048577",
        "--profile --sustained", "--reference worst", "--memory"})
    expect_one_line_and_code_2(LADDER_STAGE, arguments);
}

TEST(Cli, ListHelpAndVersionNeedNoGpu) {
  EXPECT_EQ("conflicted\npadded\nshallow\ntransposed_b\n", stage("--list").text);
  EXPECT_EQ("padded\n", stage("--list --variant padded").text);
  EXPECT_EQ(0, stage("--help").code);
  EXPECT_EQ(0, stage("--version").code);
}

class CliGpu : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome outcome = stage("--size 1 --iterations 1");
    if (outcome.code == 77) GTEST_SKIP() << outcome.text;
    ASSERT_EQ(0, outcome.code) << outcome.text;
    std::filesystem::remove(json);
  }
  const std::string json = temporary_json();
};

TEST_F(CliGpu, RunsChecksAndReports) {
  const Outcome outcome = stage("--m 67 --n 131 --k 45 --iterations 5 --sustained --json " + json);
  EXPECT_EQ(0, outcome.code) << outcome.text;
  EXPECT_NE(outcome.text.find("transposed_b  ok"), std::string::npos) << outcome.text;
  std::ifstream file(json);
  const auto report = nlohmann::json::parse(file);
  ASSERT_EQ(4u, report["variants"].size());
  for (const auto& variant : report["variants"]) {
    EXPECT_EQ(true, variant["check"]["ok"]);
    EXPECT_EQ(5, variant["time_ms"]["samples"]);
    EXPECT_GT(variant["tflops"], 0);
    EXPECT_GT(variant["registers"], 0);
    EXPECT_GT(variant["occupancy"], 0);
    EXPECT_GT(variant["sustained"]["tflops"], 0);
  }
  EXPECT_GT(report["cublas"]["tflops"], 0);
}

TEST_F(CliGpu, ExactModeFindsNoDifference) {
  EXPECT_EQ(0, stage("--size 300 --iterations 1 --exact --json " + json).code);
  std::ifstream file(json);
  for (const auto& variant : nlohmann::json::parse(file)["variants"]) {
    EXPECT_EQ("exact", variant["check"]["mode"]);
    EXPECT_EQ(0, variant["check"]["max_error"]);
  }
}

TEST_F(CliGpu, ProfileModeMeasuresNothing) {
  const Outcome outcome = stage("--size 64 --profile --json " + json);
  EXPECT_EQ(0, outcome.code) << outcome.text;
  std::ifstream file(json);
  const auto report = nlohmann::json::parse(file);
  ASSERT_EQ(4u, report["variants"].size());
  EXPECT_FALSE(report["variants"][0].contains("time_ms"));
  EXPECT_FALSE(report.contains("cublas"));
}

TEST_F(CliGpu, AMillionRowsBeyondTheGridAreRefusedByName) {
  const Outcome outcome = stage("--m 2100000 --n 1 --k 1 --variant padded");
  EXPECT_EQ(2, outcome.code);
  EXPECT_NE(outcome.text.find("M is 2100000"), std::string::npos) << outcome.text;
}

TEST_F(CliGpu, InterruptLeavesNoJson) {
  const pid_t child = fork();
  if (child == 0) {
    execl(LADDER_STAGE, LADDER_STAGE, "--json", json.c_str(), nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(std::chrono::seconds(2));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it had ended before";
  EXPECT_FALSE(std::filesystem::exists(json));
  EXPECT_FALSE(std::filesystem::exists(fmt::format("{}.{}.tmp", json, child)));
}

#endif  // LADDER_STAGE

}  // namespace
