#pragma once
// Plain C++.
#include <algorithm>

namespace ladder {

// Clusters of so many blocks, 1 to 8, that a GPU holds at the same time with one block on a
// multiprocessor. Those of more than two find no place on some multiprocessors: a cluster is within
// one group of 16 or 18 of them, or of fewer. Counted on an H100; an H200 has as many of 2, 4
// and 8.
constexpr int clusters_held(int blocks, int multiprocessors) {
  constexpr int COUNTED = 132, HELD[] = {0, 132, 66, 39, 30, 22, 17, 15, 15};
  return std::max(1, HELD[blocks] * multiprocessors / COUNTED);
}

}  // namespace ladder
