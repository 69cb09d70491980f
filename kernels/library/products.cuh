#pragma once
// The kernels that 15 chooses among, found by what it calls them.
#include <type_traits>

#include "../11c_chosen_by_shape.cuh"
#include "../13_fit_the_waves.cuh"
#include "../13b_ping_pong.cuh"
#include "../14_few_rows.cuh"
#include "launch.h"

namespace ladder::library {

using tuned::Kernel;

template <class T>
void launch_product(const tuned::Candidate& c, const Gemm<T, T>& p) {
  const auto of_tile = [&](const auto& configurations) {
    for (const auto& x : configurations)
      if (x.BM == c.BM && x.BN == c.BN && down_of(x.pairs) == c.down &&
          across_of(x.pairs) == c.across)
        return gemm_as(x, p);
    throw std::logic_error("no kernel of " + name(c));
  };
  switch (c.kernel) {
    case Kernel::CHOSEN_BY_SHAPE:
      if constexpr (std::is_same_v<T, half>)
        for (const auto& x : chosen_by_shape::CONFIGURATIONS)
          if (x.BN == c.BN && x.cluster == c.down) return gemm_as(x, p);
      break;
    case Kernel::FIT_THE_WAVES:
      return of_tile(fit_the_waves::CONFIGURATIONS<T>);
    case Kernel::PING_PONG:
      return of_tile(ping_pong::CONFIGURATIONS<T>);
    case Kernel::FEW_ROWS:
      for (const auto& x : few_rows::CONFIGURATIONS<T>)
        if (x.BM == c.BM && x.BN == c.BN && x.split == c.split) return gemm_as(x, p, c.resident);
  }
  throw std::logic_error("no kernel of " + name(c));
}

}  // namespace ladder::library
