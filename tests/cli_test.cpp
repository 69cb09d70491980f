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

Outcome stage(const std::string& arguments) {
  const std::string command = LADDER_STAGE " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), n);
  return {WEXITSTATUS(pclose(pipe)), text};
}

TEST(Cli, BadInputIsOneLineAndExitCode2) {
  for (const char* arguments :
       {"--m 0", "--size x", "--size 99999999999999", "--bogus", "--variant nope", "--size 5 --k 3",
        "--iterations -3", "--json /nonexistent/x.json", "--json /tmp", "--exact --k 1048577",
        "--profile --sustained"}) {
    const Outcome outcome = stage(arguments);
    EXPECT_EQ(2, outcome.code) << arguments;
    EXPECT_EQ(1, std::count(outcome.text.begin(), outcome.text.end(), '\n')) << outcome.text;
    EXPECT_EQ(0u, outcome.text.find("03_transposed_b: ")) << outcome.text;
  }
}

TEST(Cli, ListHelpAndVersionNeedNoGpu) {
  EXPECT_EQ("conflicted\npadded\ntransposed_b\n", stage("--list").text);
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
  const std::string json = testing::TempDir() + "cli_test_" + std::to_string(getpid()) + ".json";
};

TEST_F(CliGpu, RunsChecksAndReports) {
  const Outcome outcome = stage("--m 67 --n 131 --k 45 --iterations 5 --sustained --json " + json);
  EXPECT_EQ(0, outcome.code) << outcome.text;
  EXPECT_NE(outcome.text.find("transposed_b  ok"), std::string::npos) << outcome.text;
  std::ifstream file(json);
  const auto report = nlohmann::json::parse(file);
  ASSERT_EQ(3u, report["variants"].size());
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
  ASSERT_EQ(3u, report["variants"].size());
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

}  // namespace
