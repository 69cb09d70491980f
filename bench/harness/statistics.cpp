#include "statistics.h"

#include <algorithm>
#include <stdexcept>

namespace ladder::harness {

Timing summarize(std::vector<double> milliseconds) {
  if (milliseconds.empty()) throw std::invalid_argument("no samples to summarize");
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto percentile = [&](double fraction) {
    const double position = fraction * static_cast<double>(milliseconds.size() - 1);
    const size_t below = static_cast<size_t>(position);
    const size_t above = std::min(below + 1, milliseconds.size() - 1);
    const double weight = position - static_cast<double>(below);
    return milliseconds[below] * (1 - weight) + milliseconds[above] * weight;
  };
  return {percentile(0.5), percentile(0.1), percentile(0.9), static_cast<int>(milliseconds.size())};
}

}  // namespace ladder::harness
