#pragma once
// How A and B are stored.
#include <iterator>
#include <string>

#include "extensions.h"

namespace ladder::harness {

// By rows, or transposed: A as K x M, B as N x K. As in Gemm.
struct Layout {
  bool transposed_a = false, transposed_b = false;
  bool operator==(const Layout& other) const {
    return transposed_a == other.transposed_a && transposed_b == other.transposed_b;
  }
  bool operator!=(const Layout& other) const { return !(*this == other); }
};
// A letter for A and one for B: N by rows, T transposed.
constexpr const char* LAYOUT_NAMES[] = {"NN", "NT", "TN", "TT"};
constexpr Layout LAYOUTS[] = {{false, false}, {false, true}, {true, false}, {true, true}};
inline const char* name(Layout layout) {
  return LAYOUT_NAMES[2 * layout.transposed_a + layout.transposed_b];
}

// What a stage takes that does not take any: what Gemm's contract says.
template <class In>
constexpr Layout USUAL_LAYOUT{false, ALONG_K<In>};

}  // namespace ladder::harness
