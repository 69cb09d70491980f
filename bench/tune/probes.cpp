#include "probes.h"

#include <cmath>

namespace ladder::tune {

using harness::Shape;
using tuned::Candidate;
using tuned::Constants;

namespace {

bool is_row(Probe probe) {
  return probe == SHORT_ROW || probe == LONG_ROW;
}
bool is_alone(Probe probe) {
  return probe == SHORT_ALONE || probe == LONG_ALONE;
}
bool is_some_waves(Probe probe) {
  return probe == WAVES || probe == LONG_WAVES;
}
int steps_of(Probe probe) {
  const bool is_long = probe == LONG || probe == LONG_WAVES || probe == LONG_OFF ||
                       probe == LONG_ROW || probe == LONG_ALONE;
  return is_long ? MANY_STEPS : FEW_STEPS;
}

}  // namespace

Shape shape_of(const Candidate& candidate, Probe probe, int multiprocessors) {
  const int places = is_alone(probe) ? 1 : tuned::places(candidate, multiprocessors);
  const int rows = candidate.BM * candidate.down, columns = candidate.BN * candidate.across;
  // With `down` of the wave's tiles below each other. Rows that begin on lines have whole ones.
  constexpr int HALVES = tuned::LINE / 2;
  const auto length = [&](int down) { return down * rows + places / down * columns; };
  int down = 1;
  for (int i = 1; i <= places && !is_row(probe); ++i)
    if (places % i == 0 && places / i * columns % HALVES == 0 && length(i) < length(down)) down = i;
  static_assert(SOME_WAVES == 4, "twice as many in both dimensions");
  const int times = is_some_waves(probe) ? 2 : 1;
  // A multiple of 16 bytes, as the leading dimension has to be, but not of 128.
  const int off = probe == SHORT_OFF || probe == LONG_OFF ? 8 : 0;
  return {times * down * rows, times * (places / down) * columns - off,
          steps_of(probe) * tuned::STEP * candidate.split - off};
}

namespace {

constexpr double MORE_STEPS = MANY_STEPS - FEW_STEPS, MORE_WAVES = SOME_WAVES - 1;

double bytes_of(Shape s) {
  const double m = s.m, n = s.n, k = s.k;
  return 2 * (m * k + k * n + m * n);
}

// With t = start + steps * step + tile + (waves - 1) * (later * steps * step + tile):
Constants without_memory(const ProbeTimes& ns) {
  Constants c{};
  c.times = 1;
  c.step = (ns[LONG] - ns[SHORT]) / MORE_STEPS;
  c.step_off_lines = (ns[LONG_OFF] - ns[SHORT_OFF]) / MORE_STEPS;
  c.step_alone = (ns[LONG_ALONE] - ns[SHORT_ALONE]) / MORE_STEPS;
  c.start_alone = ns[SHORT_ALONE] - FEW_STEPS * c.step_alone;
  const double short_wave = (ns[WAVES] - ns[SHORT]) / MORE_WAVES,
               long_wave = (ns[LONG_WAVES] - ns[LONG]) / MORE_WAVES;
  const double later_step = (long_wave - short_wave) / MORE_STEPS;
  c.later = later_step / c.step;
  // Where one warpgroup stores while another multiplies, next to nothing, which is measured as a
  // little more or less.
  c.tile = std::max(0.0, short_wave - FEW_STEPS * later_step);
  c.start = ns[SHORT] - FEW_STEPS * c.step - c.tile;
  return c;
}

}  // namespace

std::vector<Constants> constants_of(const std::vector<Candidate>& candidates,
                                    const std::vector<ProbeTimes>& ns, int multiprocessors) {
  std::vector<Constants> all;
  for (size_t i = 0; i < candidates.size(); ++i) {
    Constants c = without_memory(ns[i]);
    const auto bytes = [&](Probe probe) {
      return bytes_of(shape_of(candidates[i], probe, multiprocessors));
    };
    const Shape probe = shape_of(candidates[i], SHORT, multiprocessors);
    c.start -= tuned::until_first(probe.m / (candidates[i].BM * candidates[i].down), probe.n,
                                  probe.k, /*element_bytes*/ 2);
    // Who has so much to multiply that its steps take no longer in a row has less than it could
    // draw. That does no harm: with more rows of tiles there are fewer bytes for as many products.
    const double in_row = ns[i][LONG_ROW] - ns[i][SHORT_ROW];
    c.step_in_row = in_row / MORE_STEPS;
    c.bytes_per_ns = (bytes(LONG_ROW) - bytes(SHORT_ROW)) / in_row;
    all.push_back(c);
  }
  return all;
}

std::string what_is_wrong(const Constants& c) {
  for (const double value : {c.start, c.start_alone, c.step, c.step_in_row, c.step_off_lines,
                             c.step_alone, c.later, c.tile, c.bytes_per_ns})
    if (!std::isfinite(value)) return "a constant is no number";
  if (c.step <= 0 || c.step_in_row <= 0 || c.step_off_lines <= 0 || c.step_alone <= 0 ||
      c.later <= 0)
    return "a step takes no time";
  if (c.bytes_per_ns <= 0) return "nothing comes from memory";
  if (c.start <= 0 || c.start_alone <= 0) return "the start takes no time";
  return "";
}

}  // namespace ladder::tune
