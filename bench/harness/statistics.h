#pragma once
// Order statistics of timings.
#include <vector>

namespace ladder::harness {

struct Timing {
  double median = 0, p10 = 0, p90 = 0;  // milliseconds
  int samples = 0;
};

// Percentiles by linear interpolation between order statistics. Throws std::invalid_argument when
// there are no samples.
Timing summarize(std::vector<double> milliseconds);

}  // namespace ladder::harness
