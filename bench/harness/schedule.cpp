#include "schedule.h"

#include <algorithm>
#include <numeric>

namespace ladder::harness {

int choose_iterations(double round_ms) {
  const double usual = std::clamp<double>(USUAL_MS / round_ms, MIN_SAMPLES, MAX_SAMPLES);
  return static_cast<int>(std::clamp(usual, 1.0, std::max(1.0, LONGEST_MS / round_ms)));
}

std::vector<size_t> order_of_round(size_t round, size_t contenders) {
  std::vector<size_t> order(contenders);
  std::iota(order.begin(), order.end(), size_t{0});
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

size_t rounds_per_burst(double round_ms) {
  return static_cast<size_t>(BURST_MS / std::max(round_ms, 1e-6));
}

int launches_per_turn(double launch_ms, double turn_ms) {
  if (launch_ms < SHORT_MS) return SHORT_TURN;
  return std::max(1, static_cast<int>(turn_ms / launch_ms));
}

}  // namespace ladder::harness
