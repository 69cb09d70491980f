#pragma once
// Which problems show a candidate's constants, and the constants from their times. Numbers only, no
// device.
#include <array>
#include <string>
#include <vector>

#include "harness/problem.h"
#include "tuned/model.h"

namespace ladder::tune {

// Of every candidate, whole waves, or one tile: no block waits for another's.
enum Probe {
  SHORT,       // one wave, few steps along K
  LONG,        // one wave, many
  WAVES,       // some waves, few steps
  LONG_WAVES,  // some waves, many
  SHORT_OFF,   // as the first two, with rows that begin off the lines of 128 bytes
  LONG_OFF,
  SHORT_ROW,  // and with a row of tiles: all of B is read once, from device memory
  LONG_ROW,
  SHORT_ALONE,  // and with one tile
  LONG_ALONE,
  PROBES
};
inline constexpr std::array<const char*, PROBES> PROBE_NAMES{
    "short",    "long",      "waves",    "long_waves",  "short_off",
    "long_off", "short_row", "long_row", "short_alone", "long_alone"};
constexpr int FEW_STEPS = 8, MANY_STEPS = 64, SOME_WAVES = 4;

// Where they do not lie in a row, the tiles of a wave lie as nearly in a square as they can, so
// that device memory is no limit.
harness::Shape shape_of(const tuned::Candidate& candidate, Probe probe, int multiprocessors);

using ProbeTimes = std::array<double, PROBES>;  // ns

// The model's equations for these times, solved; for every candidate. With impossible values where
// the times are not those of whole waves.
std::vector<tuned::Constants> constants_of(const std::vector<tuned::Candidate>& candidates,
                                           const std::vector<ProbeTimes>& ns, int multiprocessors);

// "" or, in a line, why these cannot be anybody's.
std::string what_is_wrong(const tuned::Constants& constants);

}  // namespace ladder::tune
