#pragma once
// Times launches with CUDA events, one launch an event pair.
#include <functional>
#include <optional>
#include <vector>

#include "events.h"
#include "schedule.h"
#include "statistics.h"

namespace ladder::harness {

struct Plan {
  int sets;                       // buffer sets to go round
  int warmup;                     // rounds before the timed ones; at least 0.1 s of them
  std::optional<int> iterations;  // timed rounds; without it choose_iterations
};

// The times of each contender. They are launched in turn, in bursts of about 10 ms with rests
// between them, without which clocks wander at the power limit; where a round is longer than a
// burst, each launch comes after the same rest. Never one contender after the other: clocks drift
// with temperature and power, and a ratio of two separate runs is off by up to 10%.
std::vector<Timing> time_interleaved(const std::vector<LaunchOn>& contenders, const Plan& plan,
                                     cudaStream_t stream);

// ms a launch of each contender, with no rests: the steady state under the power limit. Here, too,
// they take turns, of 20 ms, and so share the clock: the limit overshoots and comes back within
// tenths of a second, by up to 15%. In turns of a tenth of a second cuBLAS came to 97% of itself,
// of half a second to 105% (fp16, H200). Launches of less than about 20 us show the pace of the
// host instead. `usual` says how long a launch takes.
std::vector<double> time_sustained(const std::vector<LaunchOn>& contenders, int sets,
                                   const std::vector<Timing>& usual, cudaStream_t stream);

// How one contender is launched by itself while power is sampled: `turn_ms` of launches, then a
// rest, for `settle_ms` of launches and rests that do not count and `counted_ms` that do.
struct Pace {
  double turn_ms, rest_ms, settle_ms, counted_ms;
};
constexpr Pace IN_BURSTS{BURST_MS, REST_MS, 200, 500}, WITHOUT_RESTS{TURN_MS, 0, 500, 800};

// ms a launch, of the part that counts. `in_flight` is told when launches of it are there, and when
// they are over: in each burst, or once where there are no rests. By itself, because a sensor of
// power looks at tens of milliseconds or more: of turns that are shorter it gives the mean of all
// contenders. So these times are no comparison; those of the two functions above are.
double time_alone(const LaunchOn& launch, int sets, double usual_ms, const Pace& pace,
                  const std::function<void(bool)>& in_flight, cudaStream_t stream);

}  // namespace ladder::harness
