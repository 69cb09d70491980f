#include "race.h"

#include <algorithm>
#include <thread>

#include "harness/schedule.h"

namespace ladder::peers {

using harness::EventPair;
using harness::LaunchOn;

void Gate::close(cudaStream_t stream) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = false;
  }
  LADDER_CUDA_CHECK(cudaLaunchHostFunc(stream, wait, this));
}

void Gate::open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_open_ = true;
  opened_.notify_all();
}

void Gate::wait(void* gate) {
  Gate& g = *static_cast<Gate*>(gate);
  std::unique_lock<std::mutex> lock(g.mutex_);
  g.opened_.wait_for(lock, LONGEST, [&] { return g.is_open_; });
}

namespace {

// The first launch after a rest takes longer; where one takes this long, it no longer matters.
constexpr double LONG_MS = 2;
// The rest after a burst is as long as the burst, within these.
constexpr double SHORTEST_REST_MS = 0.5;

// Whatever happens while a burst is enqueued, the stream does not stay closed, and nothing is on it
// any more when the events are destroyed.
struct OpenedAtTheEnd {
  Gate& gate;
  cudaStream_t stream;
  ~OpenedAtTheEnd() {
    gate.open();
    cudaStreamSynchronize(stream);
  }
};

}  // namespace

double Race::run_burst(const Burst& burst, const std::vector<LaunchOn>& contenders,
                       const std::vector<double>& estimates,
                       std::vector<std::vector<double>>& times) {
  std::vector<EventPair> events(burst.size());
  {
    const OpenedAtTheEnd at_the_end{gate_, stream_};
    gate_.close(stream_);
    if (estimates[burst.front()] < LONG_MS) contenders[burst.front()](next_set());  // not timed
    for (size_t i = 0; i < burst.size(); ++i)
      events[i].around(contenders[burst[i]], next_set(), stream_);
  }
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream_));
  double sum = 0;
  for (size_t i = 0; i < burst.size(); ++i) {
    times[burst[i]].push_back(events[i].milliseconds());
    sum += times[burst[i]].back();
  }
  return sum;
}

std::vector<std::vector<double>> Race::run(const std::vector<LaunchOn>& contenders,
                                           const std::vector<double>& estimates, int rounds,
                                           std::mt19937_64& random) {
  std::vector<std::vector<double>> times(contenders.size());
  for (const Burst& burst : draw_bursts(estimates, rounds, random)) {
    const double ms = run_burst(burst, contenders, estimates, times);
    const double rest = std::clamp(ms, SHORTEST_REST_MS, harness::REST_MS);
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(rest));
  }
  return times;
}

size_t Race::fastest(const std::vector<LaunchOn>& contenders, std::mt19937_64& random) {
  struct Left {
    double ms;
    size_t number;
    bool operator<(const Left& other) const { return ms < other.ms; }
  };
  std::vector<Left> left;
  for (size_t i = 0; i < contenders.size(); ++i) try {
      contenders[i](0);
      LADDER_CUDA_CHECK(cudaStreamSynchronize(stream_));
      left.push_back({1, i});
    } catch (const CudaError&) {
      cudaGetLastError();
      LADDER_CUDA_CHECK(cudaStreamSynchronize(stream_));
    }
  if (left.empty()) throw CudaError("nobody of whom the fastest is wanted can be launched");
  struct Pass {
    int rounds;
    size_t stay;
  };
  for (const Pass pass : {Pass{2, 12}, Pass{5, 4}, Pass{11, 1}}) {
    std::vector<LaunchOn> launches;
    std::vector<double> estimates;
    for (const Left& one : left) {
      launches.push_back(contenders[one.number]);
      estimates.push_back(one.ms);
    }
    const auto times = run(launches, estimates, pass.rounds, random);
    // Of few launches the shortest says most.
    for (size_t i = 0; i < left.size(); ++i)
      left[i].ms = *std::min_element(times[i].begin(), times[i].end());
    std::sort(left.begin(), left.end());
    left.resize(std::min(left.size(), pass.stay));
  }
  return left.front().number;
}

}  // namespace ladder::peers
