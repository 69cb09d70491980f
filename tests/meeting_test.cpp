// Ranks that meet, disagree, fail, end and hang, as processes and as threads.
#include "multi_gpu/meeting.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace ladder::multi_gpu {
namespace {

using std::chrono::seconds;

struct Ended {
  std::vector<int> codes;  // of each rank; -1 where a signal ended it
  std::string errors;      // what all of them have written to stderr
};

// Every rank is a process that does `work` at the meeting and ends with what it returns.
Ended as_processes(int ranks, const std::function<int(Meeting&)>& work, seconds patience) {
  static int jobs = 0;
  const std::string job = "test." + std::to_string(getpid()) + "." + std::to_string(jobs++);
  int channel[2];
  EXPECT_EQ(pipe(channel), 0);
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = fork();
    if (process == 0) {
      dup2(channel[1], STDERR_FILENO);
      close(channel[0]), close(channel[1]);
      try {
        Meeting meeting(job, ranks, rank, patience);
        try {
          const int code = work(meeting);
          meeting.leave();
          _exit(code);
        } catch (const std::exception& e) {
          fail(e.what());
        }
      } catch (const std::exception& e) {
        fail(e.what());
      }
    }
    processes.push_back(process);
  }
  close(channel[1]);
  Ended ended;
  char part[4096];
  for (ssize_t n; (n = read(channel[0], part, sizeof(part))) > 0;)
    ended.errors.append(part, static_cast<size_t>(n));
  close(channel[0]);
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    ended.codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return ended;
}

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Meeting, EveryRankGetsWhatEachHasBrought) {
  const Ended ended = as_processes(
      4,
      [](Meeting& meeting) {
        for (int round = 0; round < 100; ++round) {
          const std::string mine(static_cast<size_t>(meeting.rank() * round), 'a');
          const std::vector<std::string> all = meeting.exchange(mine);
          for (size_t r = 0; r < all.size(); ++r)
            if (all[r].size() != r * static_cast<size_t>(round)) return 3;
        }
        return 0;
      },
      seconds(30));
  EXPECT_EQ(ended.codes, std::vector<int>({0, 0, 0, 0}));
  EXPECT_EQ(ended.errors, "");
}

TEST(Meeting, RanksOfOneProcessAreThreads) {
  const std::string job = "test.threads." + std::to_string(getpid());
  std::vector<std::string> heard(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      Meeting meeting(job, 3, rank, seconds(30));
      for (const std::string& text : meeting.exchange(std::to_string(rank)))
        heard[static_cast<size_t>(rank)] += text;
      meeting.leave();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard, std::vector<std::string>({"012", "012", "012"}));
}

TEST(Meeting, RanksThatDisagreeAllFailAndSaySo) {
  const Ended ended = as_processes(
      3,
      [](Meeting& meeting) {
        meeting.require_same("the shape", meeting.rank() == 2 ? "1x1x2" : "1x1x1");
        return 0;
      },
      seconds(30));
  EXPECT_EQ(ended.codes, std::vector<int>({1, 1, 1}));
  EXPECT_NE(
      ended.errors.find("the ranks disagree on the shape: rank 0 has 1x1x1, rank 2 has 1x1x2"),
      std::string::npos)
      << ended.errors;
  EXPECT_EQ(lines(ended.errors), 3) << ended.errors;
}

// Whoever of them fails, the others end within a second, not when their patience does.
TEST(Meeting, OneThatFailsEndsTheOthers) {
  for (const int bad : {0, 1}) {
    const auto start = std::chrono::steady_clock::now();
    const Ended ended = as_processes(
        3,
        [bad](Meeting& meeting) -> int {
          meeting.barrier();
          if (meeting.rank() == bad) throw std::runtime_error("something is broken");
          std::this_thread::sleep_for(seconds(60));
          return 0;
        },
        seconds(50));
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
    EXPECT_EQ(ended.codes, std::vector<int>({1, 1, 1}));
    EXPECT_NE(ended.errors.find("something is broken\n"), std::string::npos) << ended.errors;
    EXPECT_NE(ended.errors.find("has ended, and so does this one"), std::string::npos)
        << ended.errors;
    EXPECT_EQ(lines(ended.errors), 3) << ended.errors;
  }
}

TEST(Meeting, OneThatIsKilledEndsTheOthers) {
  const Ended ended = as_processes(
      2,
      [](Meeting& meeting) {
        meeting.barrier();
        if (meeting.rank() == 1) raise(SIGKILL);
        meeting.barrier();
        std::this_thread::sleep_for(seconds(60));
        return 0;
      },
      seconds(50));
  EXPECT_EQ(ended.codes, std::vector<int>({1, -1}));
  EXPECT_EQ(lines(ended.errors), 1) << ended.errors;
}

TEST(Meeting, OneThatHangsEndsAllWhenItsPatienceIsOver) {
  const Ended ended = as_processes(
      2,
      [](Meeting& meeting) {
        meeting.begin("multiplying");
        if (meeting.rank() == 1) std::this_thread::sleep_for(seconds(60));
        meeting.barrier();
        return 0;
      },
      seconds(1));
  EXPECT_EQ(ended.codes, std::vector<int>({1, 1}));
  EXPECT_NE(ended.errors.find("still at it after 1 s: multiplying"), std::string::npos)
      << ended.errors;
}

TEST(Meeting, AnErrorThatIsWatchedForEndsAll) {
  const Ended ended = as_processes(
      2,
      [](Meeting& meeting) {
        if (meeting.rank() == 1) meeting.watch([] { return std::string("the link is down"); });
        std::this_thread::sleep_for(seconds(60));
        return 0;
      },
      seconds(50));
  EXPECT_EQ(ended.codes, std::vector<int>({1, 1}));
  EXPECT_NE(ended.errors.find("rank 1 of 2: the link is down\n"), std::string::npos)
      << ended.errors;
}

TEST(Meeting, DoesNotWaitForeverForARankThatNeverComes) {
  for (const int only : {0, 1}) {
    const std::string job = "test.alone." + std::to_string(getpid());
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW(Meeting(job, 2, only, seconds(1)), std::runtime_error);
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5));
  }
}

TEST(Meeting, TwoJobsOfTheSameNameAreRefused) {
  const std::string job = "test.twice." + std::to_string(getpid());
  Meeting first(job + ".other", 1, 0, seconds(5));
  std::thread waiting([&] { EXPECT_THROW(Meeting(job, 2, 0, seconds(2)), std::runtime_error); });
  std::this_thread::sleep_for(seconds(1));
  EXPECT_THROW(Meeting(job, 2, 0, seconds(2)), std::runtime_error);
  waiting.join();
  first.leave();
}

TEST(Launched, ByTorchrunMpirunAndSrun) {
  for (const char* name : {"WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_PORT", "LADDER_JOB",
                           "PMIX_NAMESPACE", "SLURM_JOB_ID"})
    unsetenv(name);
  EXPECT_EQ(launched_as().ranks, 0);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1), setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
  Launched launched = launched_as();
  EXPECT_EQ(launched.ranks, 4);
  EXPECT_EQ(launched.rank, 3);
  EXPECT_EQ(launched.local_rank, 1);
  EXPECT_EQ(launched.job, std::to_string(getppid()));
  setenv("WORLD_SIZE", "2", 1), setenv("RANK", "1", 1), setenv("LOCAL_RANK", "1", 1);
  setenv("MASTER_PORT", "29500", 1);
  launched = launched_as();
  EXPECT_EQ(launched.ranks, 2);
  EXPECT_EQ(launched.rank, 1);
  EXPECT_EQ(launched.job, "29500");
}

}  // namespace
}  // namespace ladder::multi_gpu
