// The executables as a user meets them: what they print and how they exit.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
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
  const int status = pclose(pipe);
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), text};
}

void expect_one_line_and_code_2(const std::string& executable, const std::string& arguments) {
  const Outcome outcome = run(executable, arguments);
  EXPECT_EQ(2, outcome.code) << arguments;
  ASSERT_EQ(0u, outcome.text.find("03_transposed_b: ")) << outcome.text;
  const auto is_control = [](unsigned char c) { return std::iscntrl(c) != 0; };
  EXPECT_EQ('\n', outcome.text.back()) << arguments;
  EXPECT_EQ(1, std::count_if(outcome.text.begin(), outcome.text.end(), is_control)) << outcome.text;
}

std::string temporary_json() {
  return testing::TempDir() + "cli_test_" + std::to_string(getpid()) + ".json";
}

TEST(CliCpu, BadInputIsOneLineAndExitCode2) {
  for (const char* arguments : {"--m 0",
                                "--sustained",
                                "--profile",
                                "--iterations 5",
                                "--bogus",
                                "bogus",
                                "--json /nonexistent/x.json",
                                "--json x.json --trace ./x.json",
                                "--json ''",
                                "--size 2000000",
                                "--trace /nonexistent/x.json",
                                "--trace x.json --no-memory",
                                "--bias",
                                "--alpha 0.5",
                                "--activation gelu",
                                "--layout TN",
                                "--layout nn",
                                "--type fp16",
                                "--size",
                                "--size ''",
                                "--size 0x10",
                                "--size ' 5'",
                                "--size ５",
                                "--size 5,6",
                                "--seed 18446744073709551616",
                                "--alpha nan",
                                "--alpha 1e39",
                                "--beta inf",
                                "--beta 1x",
                                "--zero-point 1.5",
                                "--groups 1,,2",
                                "--groups 2147482623,1",
                                "--batch 2147482623",
                                "--variant ''",
                                "--variant 'a\nb'",
                                "--json 'no/\x1b[2J\n'",
                                "--size '\r5'",
                                "--bias=no",
                                "--check=2",
                                "--exact=no",
                                "--list=0",
                                "--no-memory=7",
                                "--list --layout TN",
                                "--m 70000 --n 1 --k 20000"})
    expect_one_line_and_code_2(LADDER_CPU_STAGE, arguments);
}

TEST(CliCpu, TooLittleMemoryIsOneLine) {
  for (const char* counting : {"", " --no-memory"})
    for (int megabytes = 50; megabytes <= 650; megabytes += 100) {
      const Outcome outcome = run(
          "bash",
          fmt::format(
              "-c 'ulimit -c 0; ulimit -v {}; OMP_NUM_THREADS=1 {} --size 64 --variant padded{}'",
              megabytes * 1024, LADDER_CPU_STAGE, counting));
      if (outcome.code == 0) continue;
      EXPECT_TRUE(outcome.code == 1 || outcome.code == 2) << megabytes << ": " << outcome.code;
      EXPECT_EQ(1, std::count(outcome.text.begin(), outcome.text.end(), '\n')) << outcome.text;
    }
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

TEST(CliCpu, ReportsTracesOfTheFirstRequestsOfAWarp) {
  const std::string path = temporary_json();
  const Outcome outcome =
      run(LADDER_CPU_STAGE, "--m 64 --n 64 --k 64 --variant conflicted --trace " + path);
  EXPECT_EQ(0, outcome.code) << outcome.text;
  std::ifstream file(path);
  const auto trace = nlohmann::json::parse(file);
  std::filesystem::remove(path);
  const auto line_of = [&](const char* array, const char* operation) {
    for (const auto& line : trace["variants"][0]["lines"])
      if (line["array"] == array && line["op"] == operation) return line;
    return nlohmann::json();
  };
  const auto load = line_of("sB", "load");
  EXPECT_EQ("shared", load["space"]);
  EXPECT_EQ(4096, load["array_bytes"]);
  EXPECT_EQ(0, load["warp"]);
  ASSERT_EQ(16u, load["first"].size());  // of 16 bytes, merged as by ptxas; 8 a tile
  for (int quad = 0; quad < 8; ++quad) {
    EXPECT_EQ(32, load["first"][quad]["cost"]);
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_EQ(lane * 128 + quad * 16, load["first"][quad]["offsets"][lane]);
  }
  EXPECT_EQ(64 * 4, line_of("A", "load")["pitch"]);
  EXPECT_EQ(2u, line_of("A", "load")["first"].size());  // as many as there are tiles along K
}

// A program's outcome under bash, whose command begins with the program and its size.
Outcome in_bash(const std::string& arguments) {
  const std::string program = std::string(LADDER_CPU_STAGE) + " --size 32 --no-memory ";
  return run("bash", "-c '" + program + arguments + "'");
}

TEST(CliCpu, AReportGoesToStandardOutputToo) {
  for (const char* arguments :
       {"--json /dev/stdout", "--json >(cat) | cat", "--json /dev/fd/3 3>&1"}) {
    const Outcome outcome = in_bash(arguments);
    EXPECT_EQ(0, outcome.code) << outcome.text;
    const size_t begin = outcome.text.find("\n{");
    ASSERT_NE(std::string::npos, begin) << arguments << outcome.text;
    EXPECT_TRUE(nlohmann::json::accept(outcome.text.substr(begin))) << arguments << outcome.text;
  }
  const std::string path = temporary_json();
  in_bash("--json " + path + " >" + path);  // the table, and behind it the report
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(std::string::npos, text.find("variant")) << text;
  EXPECT_NE(std::string::npos, text.find("\n{")) << text;
  std::filesystem::remove(path);
}

TEST(CliCpu, ATableThatIsLostFailsTheRunAndTheReportIsWritten) {
  const std::string path = temporary_json();
  for (const char* lost : {" >/dev/full", " >&-"}) {
    const Outcome outcome = in_bash("--json " + path + lost);
    EXPECT_EQ(1, outcome.code) << lost;
    EXPECT_EQ("03_transposed_b: standard output could not be written; results are missing there\n",
              outcome.text);
    std::ifstream file(path);
    EXPECT_TRUE(nlohmann::json::accept(file)) << lost;
    std::filesystem::remove(path);
    for (const char* option : {"--list", "--help", "--version"})
      EXPECT_EQ(1, in_bash(option + std::string(lost)).code) << option << lost;
  }
}

TEST(CliCpu, NoMemoryLeavesTheReportOut) {
  const Outcome outcome = run(LADDER_CPU_STAGE, "--size 40 --exact --no-memory");
  EXPECT_EQ(0, outcome.code);
  EXPECT_EQ(outcome.text.find("l1tex"), std::string::npos) << outcome.text;
}

TEST(CliCpu, ZerosAndOneConstantAreCheckedAndSaid) {
  for (const char* data : {"zeros", "constant"}) {
    const Outcome outcome =
        run(LADDER_CPU_STAGE, std::string("--size 40 --no-memory --data ") + data);
    EXPECT_EQ(0, outcome.code) << outcome.text;
    EXPECT_NE(outcome.text.find("which proves little"), std::string::npos) << outcome.text;
  }
}

// A run of the stage that is wrong on purpose, without the count of its accesses. Its dimensions
// are beyond the 64 parts that the comparison is made in.
class CliCpuWrong : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(json); }
  void TearDown() override { std::filesystem::remove(json); }

  Outcome run_wrong(const std::string& arguments) {
    return run(LADDER_WRONG_STAGE, "--m 90 --n 35 --k 40 --json " + json + " " + arguments);
  }
  nlohmann::json report() const {
    std::ifstream file(json);
    return nlohmann::json::parse(file);
  }
  // The run has to fail, with `line` printed, for that variant alone, and to say so in JSON, too.
  void expect_wrong(const std::string& variant, const std::string& line,
                    const std::string& options = "") {
    const Outcome outcome =
        run_wrong("--no-memory --variant first " + variant + " last " + options);
    EXPECT_EQ(1, outcome.code) << outcome.text;
    EXPECT_NE(outcome.text.find("  WRONG " + variant + ": " + line), std::string::npos)
        << outcome.text;
    EXPECT_EQ(outcome.text.find("\n  WRONG "), outcome.text.rfind("\n  WRONG ")) << outcome.text;
    const nlohmann::json variants = report()["variants"];
    ASSERT_EQ(3u, variants.size());
    EXPECT_EQ(true, variants[0]["check"]["ok"]);
    EXPECT_EQ(false, variants[1]["check"]["ok"]);
    EXPECT_EQ(true, variants[2]["check"]["ok"]);
  }

  const std::string json = temporary_json();
};

TEST_F(CliCpuWrong, RightVariantsSucceed) {
  const Outcome outcome = run_wrong("--no-memory --variant first in_workspace last");
  EXPECT_EQ(0, outcome.code) << outcome.text;
  EXPECT_EQ(outcome.text.find("WRONG"), std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.text.find("FOUND"), std::string::npos) << outcome.text;
  const auto json = report();
  ASSERT_EQ(3u, json["variants"].size());
  for (const auto& variant : json["variants"]) EXPECT_EQ(true, variant["check"]["ok"]);
}

TEST_F(CliCpuWrong, EachMistakeFailsTheRun) {
  // What was written before must not count as the result of a variant that writes nothing.
  expect_wrong("nothing", "row 0, column 0: got nothing, expected ");
  expect_wrong("nothing", "row 0, column 0: got nothing, expected ", "--exact");
  expect_wrong("nan", "row 70, column 3: got nan, expected ");
  expect_wrong("element", "row 70, column 3: got ");
  expect_wrong("past_c", "wrote past the end of C, to the place of row ");
  expect_wrong("past_row", "wrote past the end of row 70 of C, to column ");
  expect_wrong("past_workspace", "wrote past the end of the workspace, to byte 100 of 100");
}

TEST_F(CliCpuWrong, WithoutTheCheckNothingIsWrong) {
  const Outcome outcome = run_wrong("--no-memory --no-check --variant element");
  EXPECT_EQ(0, outcome.code) << outcome.text;
  EXPECT_FALSE(report()["variants"][0].contains("check"));
}

TEST_F(CliCpuWrong, ExactAsksForEquality) {
  EXPECT_EQ(0, run_wrong("--no-memory --variant rounded_again").code);
  EXPECT_EQ("random", report()["variants"][0]["check"]["mode"]);
  EXPECT_GT(report()["variants"][0]["check"]["bound"], 0);
  expect_wrong("rounded_again", "row 0, column 0: got ", "--exact");
  const auto json = report();
  for (const auto& variant : json["variants"]) {
    EXPECT_EQ("exact", variant["check"]["mode"]);
    EXPECT_EQ(0, variant["check"]["bound"]);
  }
  EXPECT_EQ(0, json["variants"][0]["check"]["max_error"]);
}

// By the error of fp32, which is another one for other data.
TEST_F(CliCpuWrong, SeedsDrawTheirOwnData) {
  const auto error = [&](const std::string& seed) {
    EXPECT_EQ(0, run_wrong("--no-memory --variant first " + seed).code);
    return report()["variants"][0]["check"]["max_error"].get<double>();
  };
  const double usual = error("");
  EXPECT_GT(usual, 0);
  EXPECT_EQ(usual, error("--seed 1"));
  EXPECT_EQ(1, report()["problem"]["seed"]);
  EXPECT_NE(usual, error("--seed 2"));
  EXPECT_EQ(2, report()["problem"]["seed"]);
}

TEST_F(CliCpuWrong, ExitCodesTellInputFromFailure) {
  const Outcome refused = run_wrong("--variant refuses");
  EXPECT_EQ(2, refused.code);
  EXPECT_EQ("00_wrong: M is too odd\n", refused.text);
  const Outcome broken = run_wrong("--variant breaks");
  EXPECT_EQ(1, broken.code);
  EXPECT_EQ("00_wrong: it broke\n", broken.text);
  EXPECT_FALSE(std::filesystem::exists(json));
}

TEST_F(CliCpuWrong, AnInterruptLeavesNoJson) {
  const pid_t child = fork();
  if (child == 0) {
    if (freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    signal(SIGINT, SIG_DFL);  // ignored where the tests run in the background
    execl(LADDER_WRONG_STAGE, LADDER_WRONG_STAGE, "--size", "64", "--variant", "first",
          "interrupted", "--json", json.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_FALSE(std::filesystem::exists(json));
  EXPECT_FALSE(std::filesystem::exists(fmt::format("{}.{}.tmp", json, child)));
}

// What is found while counting fails a run whose results are right.
class CliCpuWrongReports : public CliCpuWrong {
 protected:
  void expect_found(const std::string& variant, const std::string& text) {
    const Outcome outcome = run_wrong("--variant first " + variant + " last");
    EXPECT_EQ(1, outcome.code) << outcome.text;
    const size_t line = outcome.text.find("  FOUND " + variant + ": ");
    ASSERT_NE(line, std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find(text, line), std::string::npos) << outcome.text;
    EXPECT_EQ(outcome.text.find("FOUND first"), std::string::npos) << outcome.text;
    EXPECT_EQ(outcome.text.find("FOUND last"), std::string::npos) << outcome.text;
    const nlohmann::json variants = report()["variants"];
    ASSERT_EQ(3u, variants.size());
    EXPECT_TRUE(variants[0]["findings"].empty());
    ASSERT_FALSE(variants[1]["findings"].empty());
    EXPECT_NE(variants[1]["findings"][0].get<std::string>().find(text), std::string::npos);
    EXPECT_NE(variants[1]["findings"][0].get<std::string>().find("wrong_stage.cpp:"),
              std::string::npos);
    EXPECT_TRUE(variants[2]["findings"].empty());
    for (const auto& v : variants) EXPECT_EQ(true, v["check"]["ok"]);
  }
};

TEST_F(CliCpuWrongReports, AReadOutOfBounds) {
  expect_found("out_of_bounds", "reads past the end of A: 4 bytes at row ");
}
TEST_F(CliCpuWrongReports, ARace) {
  expect_found("race", "the other: ");
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
  const Outcome outcome = stage("--m 67 --n 131 --k 45 --iterations 5 --json " + json);
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
    EXPECT_FALSE(variant.contains("sustained") || variant.contains("power"));
  }
  EXPECT_GT(report["cublas"]["tflops"], 0);
}

TEST_F(CliGpu, TheSteadyStateHasItsPower) {
  EXPECT_EQ(0, stage("--size 1024 --variant padded --sustained --json " + json).code);
  std::ifstream file(json);
  const auto variant = nlohmann::json::parse(file)["variants"][0];
  EXPECT_GT(variant["sustained"]["tflops"], 0);
  if (variant["power"].contains("unavailable")) return;
  for (const char* contender : {"stage", "cublas"})
    for (const char* pace : {"bursts", "sustained"})
      EXPECT_GT(variant["power"][contender][pace]["watts"], 10) << contender << " " << pace;
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

TEST_F(CliGpu, AProofHasRunsAndNoTimes) {
  const Outcome outcome = stage("--m 33 --n 65 --k 65 --prove --json " + json);
  EXPECT_EQ(0, outcome.code) << outcome.text;
  std::ifstream file(json);
  const auto report = nlohmann::json::parse(file);
  EXPECT_EQ(7, report["problem"]["runs"]);
  EXPECT_EQ(7, report["problem"]["wide"]["runs"]);
  ASSERT_EQ(4u, report["variants"].size());
  for (const auto& variant : report["variants"]) {
    EXPECT_EQ(true, variant["check"]["ok"]);
    EXPECT_GT(variant["registers"], 0);
    EXPECT_FALSE(variant.contains("time_ms"));
  }
}

TEST_F(CliGpu, AMillionRowsBeyondTheGridAreRefusedByName) {
  const Outcome outcome = stage("--m 2100000 --n 1 --k 1 --variant padded");
  EXPECT_EQ(2, outcome.code);
  EXPECT_NE(outcome.text.find("M is 2100000"), std::string::npos) << outcome.text;
}

TEST_F(CliGpu, InterruptLeavesNoJson) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
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
