#pragma once
// 18's kernels, found by their tiles.
#include "../18_layouts.cuh"
#include "launch.h"
#include "plan.h"

namespace ladder::library {

constexpr bool has_all_tiles() {
  bool has_all = true;
  for (const tuned::Candidate& c : LAYOUT_TILES) {
    bool has = false;
    for (const auto& x : layouts::CONFIGURATIONS<half>) has |= x.BM == c.BM && x.BN == c.BN;
    has_all &= has;
  }
  return has_all;
}
static_assert(has_all_tiles(), "plan.h chooses among tiles that 18 has");

template <class T>
void launch_layout(const tuned::Candidate& c, const Gemm<T, T>& p) {
  for (const layouts::Configuration<T>& x : layouts::CONFIGURATIONS<T>)
    if (x.BM == c.BM && x.BN == c.BN) return layouts::gemm_as(x, p);
  throw std::logic_error("no kernel of 18 has the tile of " + name(c));
}

}  // namespace ladder::library
