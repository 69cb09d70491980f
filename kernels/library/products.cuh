#pragma once
// The kernels that 15 chooses among, found by what it calls them.
#include <type_traits>

#include "../11c_chosen_by_shape.cuh"
#include "../14_few_rows.cuh"
#include "../parts/epilogue.cuh"
#include "tiles.cuh"

namespace ladder::library {

template <class T>
void launch_product(const Candidate& c, const Gemm<T, T>& p) {
  switch (c.kernel) {
    case Kernel::CHOSEN_BY_SHAPE:
      if constexpr (std::is_same_v<T, half>)
        for (const auto& x : chosen_by_shape::CONFIGURATIONS)
          if (x.BN == c.BN && x.cluster == c.down) return gemm_as(x, p);
      break;
    case Kernel::FIT_THE_WAVES:
    case Kernel::PING_PONG:
      return launch_tile<T, Major::K, Major::MN, TILES>(c, p, ProductAlone{});
    case Kernel::FEW_ROWS:
      for (const auto& x : few_rows::CONFIGURATIONS<T>)
        if (x.BM == c.BM && x.BN == c.BN && x.split == c.split) return gemm_as(x, p, c.resident);
  }
  throw std::logic_error("no kernel of " + name(c));
}

}  // namespace ladder::library
