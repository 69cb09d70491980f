#pragma once
// Where the ranks of a job meet on the host: they exchange small things, and when one of them
// fails, ends or hangs, all do. Works between the threads of a process as between processes of a
// machine.
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ladder::multi_gpu {

// Which rank of how many this process is, by what torchrun, mpirun (Open MPI, MPICH) or srun have
// set; ranks is 0 where none of them has.
struct Launched {
  int ranks = 0, rank = 0, local_rank = 0;
  std::string job;  // the same for all ranks of a job, and for no other job
};
Launched launched_as();

// Prints `message` as this process's only line of failure and ends the process at once.
[[noreturn]] void fail(const std::string& message, int exit_code = 1);

class Meeting {
 public:
  // Waits for all ranks, for at most `patience`; the same holds for every later step.
  Meeting(const std::string& job, int ranks, int rank, std::chrono::seconds patience);
  // leave() must have been called, but for an exception that ends the process.
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }
  std::string name() const;  // "rank 1 of 2"

  // Of every rank what it has brought.
  std::vector<std::string> exchange(const std::string& mine);
  void barrier() { exchange(""); }
  // Throws std::runtime_error unless all ranks bring the same; `what` says of what.
  void require_same(const std::string& what, const std::string& mine);

  // From here on this rank does `what`, and fails if it is still at it when its patience is over.
  void begin(const std::string& what);
  // Asked a few times a second, from another thread; an error text ends all ranks.
  void watch(std::function<std::string()> error);
  // When all ranks have come here they may end.
  void leave();

 private:
  void look();  // the watching thread

  const int ranks_, rank_;
  const std::chrono::seconds patience_;
  std::vector<int> sockets_;  // of rank 0: to each other rank; of others: the one to rank 0
  std::mutex mutex_;
  std::string doing_;
  std::chrono::steady_clock::time_point deadline_;
  std::function<std::string()> error_;
  std::atomic<bool> over_{false};
  std::thread watcher_;
};

}  // namespace ladder::multi_gpu
