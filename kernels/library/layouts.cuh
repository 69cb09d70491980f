#pragma once
// 18's kernels, found by their tiles.
#include "../18_layouts.cuh"
#include "launch.h"

namespace ladder::library {

template <class T>
void launch_layout(const tuned::Candidate& c, const Gemm<T, T>& p) {
  for (const layouts::Configuration<T>& x : layouts::CONFIGURATIONS<T>)
    if (x.BM == c.BM && x.BN == c.BN) return layouts::gemm_as(x, p);
  throw std::logic_error("no kernel of 18 has the tile of " + name(c));
}

}  // namespace ladder::library
