#pragma once
// 16's kernels, found by their tiles.
#include "../16_fused_epilogue.cuh"
#include "launch.h"

namespace ladder::library {

template <class T>
void launch_fused(const tuned::Candidate& c, const Gemm<T, T>& p) {
  const auto of_tile = [&](const auto& configurations) {
    for (const auto& x : configurations)
      if (x.BM == c.BM && x.BN == c.BN) return fused_epilogue::gemm_of_tiles(x, p);
    throw std::logic_error("no kernel of 16 has the tile of " + name(c));
  };
  if (c.kernel == tuned::Kernel::FIT_THE_WAVES)
    of_tile(fused_epilogue::TOGETHER<T>);
  else
    of_tile(fused_epilogue::IN_TURN<T>);
}

}  // namespace ladder::library
