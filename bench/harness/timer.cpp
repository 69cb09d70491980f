#include "timer.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace ladder::harness {
namespace {

constexpr double WARMUP_SECONDS =
    0.1;  // an idle GPU takes tens of milliseconds to raise its clocks
// Launches come in bursts with rests between them. Without, a tensor-core GEMM on an H200 (06_wmma,
// 4096^3) is at the power limit after 0.1 s; clocks wander, p10 and p90 are 10% apart instead of
// 1%.
constexpr double BURST_MS = 10.0;
constexpr std::chrono::milliseconds REST{10};
// At the power limit there are no rests, but turns.
constexpr double TURN_MS = 20.0;
constexpr int WARMUP_ROUNDS = 3, ROUNDS = 10;  // of two turns each

class Event {
 public:
  Event() { LADDER_CUDA_CHECK(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream) { LADDER_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  double milliseconds_since(const Event& start) const {
    float ms = 0;
    LADDER_CUDA_CHECK(cudaEventElapsedTime(&ms, start.event_, event_));
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

struct EventPair {
  Event start, stop;
  void around(const LaunchOn& launch, int set, cudaStream_t stream) {
    start.record(stream);
    launch(set);
    stop.record(stream);
  }
  double milliseconds() const { return stop.milliseconds_since(start); }
};

}  // namespace

int choose_iterations(double pair_ms) {
  const double usual = std::max<double>(MIN_SAMPLES, USUAL_MS / pair_ms);
  return static_cast<int>(std::clamp(usual, 1.0, std::max(1.0, LONGEST_MS / pair_ms)));
}

Interleaved time_interleaved(const LaunchOn& stage, const LaunchOn& cublas, const Plan& plan,
                             cudaStream_t stream) {
  int set = 0;
  const auto next_set = [&] { return set++ % plan.sets; };

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  double pair_ms = 0;
  for (int i = 0; i < plan.warmup || elapsed() < WARMUP_SECONDS; ++i) {
    EventPair a, b;
    a.around(stage, next_set(), stream);
    b.around(cublas, next_set(), stream);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
    pair_ms = a.milliseconds() + b.milliseconds();
  }

  const auto count = static_cast<size_t>(plan.iterations.value_or(choose_iterations(pair_ms)));
  const auto per_burst = static_cast<size_t>(std::max(1.0, BURST_MS / pair_ms));
  std::vector<EventPair> stage_events(count), cublas_events(count);
  for (size_t begin = 0; begin < count; begin += per_burst) {
    // A launch into an idle stream shows the host's latency; this one is not timed. The rest of the
    // burst is enqueued behind it.
    cublas(next_set());
    for (size_t i = begin; i < std::min(count, begin + per_burst); ++i) {
      stage_events[i].around(stage, next_set(), stream);
      cublas_events[i].around(cublas, next_set(), stream);
    }
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
    std::this_thread::sleep_for(REST);
  }

  const auto timing = [](const std::vector<EventPair>& events) {
    std::vector<double> milliseconds;
    for (const EventPair& pair : events) milliseconds.push_back(pair.milliseconds());
    return summarize(milliseconds);
  };
  return {timing(stage_events), timing(cublas_events)};
}

SteadyState time_sustained(const LaunchOn& stage, const LaunchOn& cublas, int sets,
                           const Interleaved& usual, cudaStream_t stream) {
  const auto turn = [&](const LaunchOn& launch, double expected_ms) {
    const int count = std::max(1, static_cast<int>(TURN_MS / expected_ms));
    EventPair whole;
    whole.start.record(stream);
    for (int i = 0; i < count; ++i) launch(i % sets);
    whole.stop.record(stream);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
    return whole.milliseconds() / count;
  };
  SteadyState mean{};
  for (int round = -WARMUP_ROUNDS; round < ROUNDS; ++round) {
    // In this order clocks that rise or fall do so for both.
    for (const bool of_stage : {true, false, false, true}) {
      const double ms =
          of_stage ? turn(stage, usual.stage.median) : turn(cublas, usual.cublas.median);
      if (round >= 0) (of_stage ? mean.stage : mean.cublas) += ms / (2 * ROUNDS);
    }
  }
  return mean;
}

}  // namespace ladder::harness
