#pragma once
// Times contenders beside each other: in random order, in bursts that are enqueued as a whole
// before their first launch starts, on rotated buffers.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <vector>

#include "contest.h"
#include "harness/events.h"

namespace ladder::peers {

// Holds a stream until it is opened. Without, a launch that takes less time than the host takes for
// the next one is followed by a pause, and is timed with it.
class Gate {
 public:
  void close(cudaStream_t stream);
  void open();

 private:
  // By then it opens by itself: a call of the host may wait for the stream.
  static constexpr std::chrono::milliseconds LONGEST{100};
  static void wait(void* gate);

  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = true;
};

class Race {
 public:
  Race(cudaStream_t stream, int sets) : stream_(stream), sets_(sets) {}

  // ms of `rounds` launches of each contender, of which one takes about `estimates` ms.
  std::vector<std::vector<double>> run(const std::vector<harness::LaunchOn>& contenders,
                                       const std::vector<double>& estimates, int rounds,
                                       std::mt19937_64& random);

  // The number of the fastest, found in three passes. Who cannot be launched is left out; throws
  // CudaError where nobody can.
  size_t fastest(const std::vector<harness::LaunchOn>& contenders, std::mt19937_64& random);

 private:
  // Into `times`, by contender; returns ms of all of it.
  double run_burst(const Burst& burst, const std::vector<harness::LaunchOn>& contenders,
                   const std::vector<double>& estimates, std::vector<std::vector<double>>& times);
  int next_set() { return launched_++ % sets_; }

  cudaStream_t stream_;
  int sets_, launched_ = 0;
  Gate gate_;
};

}  // namespace ladder::peers
