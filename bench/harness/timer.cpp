#include "timer.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace ladder::harness {
namespace {

// An idle GPU takes tens of milliseconds to raise its clocks.
constexpr double WARMUP_SECONDS = 0.1;
// Rounds of the steady state, each of them twice the contenders' turns.
constexpr int WARMUP_ROUNDS = 3, ROUNDS = 10;

constexpr std::chrono::duration<double, std::milli> REST{REST_MS};

// The stream rests; what is enqueued meanwhile begins without the host's latency.
void enqueue_rest(cudaStream_t stream) {
  LADDER_CUDA_CHECK(cudaLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(REST); }, nullptr));
}

}  // namespace

std::vector<Timing> time_interleaved(const std::vector<LaunchOn>& contenders, const Plan& plan,
                                     cudaStream_t stream) {
  const size_t n = contenders.size();
  int launched = 0;
  const auto next_set = [&] { return launched++ % plan.sets; };

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  double round_ms = 0;
  for (int i = 0; i < plan.warmup || elapsed() < WARMUP_SECONDS; ++i) {
    std::vector<EventPair> events(n);
    for (const size_t c : order_of_round(static_cast<size_t>(i), n))
      events[c].around(contenders[c], next_set(), stream);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
    round_ms = 0;
    for (const EventPair& pair : events) round_ms += pair.milliseconds();
  }

  const auto count = static_cast<size_t>(plan.iterations.value_or(choose_iterations(round_ms)));
  const size_t per_burst = rounds_per_burst(round_ms);
  std::vector<EventPair> events(n * count);  // by contender
  for (size_t round = 0; round < count; ++round) {
    const std::vector<size_t> order = order_of_round(round, n);
    // A launch into an idle stream shows the host's latency; this one is not timed. The rest of the
    // burst is enqueued behind it.
    if (per_burst > 0 && round % per_burst == 0) contenders[order.back()](next_set());
    for (const size_t c : order) {
      if (per_burst == 0) enqueue_rest(stream);
      events[c * count + round].around(contenders[c], next_set(), stream);
      if (per_burst == 0) LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    if (per_burst > 0 && (round % per_burst == per_burst - 1 || round == count - 1)) {
      LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
      std::this_thread::sleep_for(REST);
    }
  }

  std::vector<Timing> timings;
  for (size_t c = 0; c < n; ++c) {
    std::vector<double> milliseconds;
    for (size_t round = 0; round < count; ++round)
      milliseconds.push_back(events[c * count + round].milliseconds());
    timings.push_back(summarize(milliseconds));
  }
  return timings;
}

namespace {

// ms a launch, of a turn of launches with nothing between them.
double time_turn(const LaunchOn& launch, int count, int sets, cudaStream_t stream) {
  EventPair whole;
  whole.start.record(stream);
  for (int i = 0; i < count; ++i) launch(i % sets);
  whole.stop.record(stream);
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  return whole.milliseconds() / count;
}

}  // namespace

std::vector<double> time_sustained(const std::vector<LaunchOn>& contenders, int sets,
                                   const std::vector<Timing>& usual, cudaStream_t stream) {
  const auto turn = [&](size_t c) {
    return time_turn(contenders[c], launches_per_turn(usual[c].median, TURN_MS), sets, stream);
  };
  std::vector<double> mean(contenders.size());
  for (int round = -WARMUP_ROUNDS; round < ROUNDS; ++round)
    // Forwards and backwards: clocks that rise or fall do so for all.
    for (const size_t pass : {0, 1})
      for (const size_t c : order_of_round(pass, contenders.size())) {
        const double ms = turn(c);
        if (round >= 0) mean[c] += ms / (2 * ROUNDS);
      }
  return mean;
}

double time_alone(const LaunchOn& launch, int sets, double usual_ms, const Pace& pace,
                  const std::function<void(bool)>& in_flight, cudaStream_t stream) {
  const int count = launches_per_turn(usual_ms, pace.turn_ms);
  const bool rests = pace.rest_ms > 0;
  double sum = 0;
  int turns = 0;
  for (double spent = -pace.settle_ms; turns == 0 || spent < pace.counted_ms;) {
    const bool counts = spent >= 0;
    launch(0);  // not timed: into an idle stream
    if (counts && (rests || turns == 0)) in_flight(true);
    const double ms = time_turn(launch, count, sets, stream);
    if (counts && rests) in_flight(false);
    if (counts) {
      sum += ms;
      ++turns;
    }
    spent += ms * (count + 1) + pace.rest_ms;
    if (rests) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(pace.rest_ms));
  }
  if (!rests) in_flight(false);
  return sum / turns;
}

}  // namespace ladder::harness
