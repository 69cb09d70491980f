#pragma once
// Times launches with CUDA events, one launch an event pair.
#include <functional>
#include <optional>

#include "launch.cuh"
#include "statistics.h"

namespace ladder::harness {

// Enqueues one launch that works on buffer set number `set`.
using LaunchOn = std::function<void(int set)>;

struct Plan {
  int sets;                       // buffer sets to go round
  int warmup;                     // pairs of launches before the timed ones; at least 0.1 s of them
  std::optional<int> iterations;  // timed pairs; without it see MIN_SAMPLES
};

constexpr int MIN_SAMPLES = 20;  // unless they would take longer than LONGEST_MS
constexpr double USUAL_MS = 500.0, LONGEST_MS = 5000.0;

// How many pairs of `pair_ms` each to time: half a second's worth, which takes a second with the
// rests, MIN_SAMPLES or more, but no longer than five seconds and at least one.
int choose_iterations(double pair_ms);

struct Interleaved {
  Timing stage, cublas;
};

// Launches both in turn, in bursts of about 10 ms with rests between them, which keeps the device
// below its power limit. Never one after the other: clocks drift with temperature and power, and a
// ratio of two separate runs is off by up to 10%.
Interleaved time_interleaved(const LaunchOn& stage, const LaunchOn& cublas, const Plan& plan,
                             cudaStream_t stream);

struct SteadyState {
  double stage, cublas;  // ms a launch
};

// Launches with no rests: the steady state under the power limit. Here, too, both take turns, of 20
// ms, and so share the clock: the limit overshoots and comes back within tenths of a second, by up
// to 15%. In turns of a tenth of a second cuBLAS came to 97% of itself, of half a second to 105%
// (fp16, H200). Launches of less than about 20 us show the pace of the host instead.
// `usual` says how long a launch takes.
SteadyState time_sustained(const LaunchOn& stage, const LaunchOn& cublas, int sets,
                           const Interleaved& usual, cudaStream_t stream);

}  // namespace ladder::harness
