#pragma once
// What is timed when: how many launches, in which order, with which rests. Numbers only, no device.
#include <cstddef>
#include <vector>

namespace ladder::harness {

// Contenders (the stage, cuBLAS, perhaps the best of cublasLt) are launched in rounds, each of them
// once a round.

constexpr int MIN_SAMPLES = 20;    // unless they would take longer than LONGEST_MS
constexpr int MAX_SAMPLES = 5000;  // more of a short launch only take time
constexpr double USUAL_MS = 500.0, LONGEST_MS = 5000.0;

// How many rounds of `round_ms` each to time: half a second's worth, which takes a second with the
// rests, from MIN_SAMPLES to MAX_SAMPLES, but no longer than five seconds and at least one.
int choose_iterations(double round_ms);

// The contenders' numbers as they are launched in round number `round`: forwards and backwards in
// turn (a b b a). Whoever comes later in a burst meets a lower clock, and in always the same order
// that is worth 2 to 3 points of percent (fp16, 16384^3, H200).
std::vector<size_t> order_of_round(size_t round, size_t contenders);

// Launches come in bursts with rests between them. Without, a tensor-core GEMM on an H200 (06_wmma,
// 4096^3) is at the power limit after 0.1 s; clocks wander, p10 and p90 are 10% apart instead of
// 1%.
constexpr double BURST_MS = 10.0, REST_MS = 10.0;

// How many rounds make a burst; 0 where one is longer than that: each launch then has its own rest.
size_t rounds_per_burst(double round_ms);

// At the power limit there are no rests, but turns: so many launches of one contender, of `turn_ms`
// together. Of launches that are shorter than SHORT_MS a few will do, as they show the pace of the
// host.
constexpr double TURN_MS = 20.0, SHORT_MS = 0.02;
constexpr int SHORT_TURN = 100;
int launches_per_turn(double launch_ms, double turn_ms);

}  // namespace ladder::harness
