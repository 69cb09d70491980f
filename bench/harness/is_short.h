#pragma once
// What ./scripts/test.sh without --all tells its tests.
#include <cstdlib>

namespace ladder::harness {

// Whether what takes longest is left to the slow tests: there are some shapes of each kind then,
// and often one kind of data.
inline bool is_short() {
  return std::getenv("LADDER_FEWEST_SHAPES") != nullptr;
}

}  // namespace ladder::harness
