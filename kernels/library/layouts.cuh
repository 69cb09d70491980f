#pragma once
// 18's layouts, A or B by columns: 13's kernel and 13b's, alone and with 16's epilogue. In files of
// their own, which are compiled at the same time.
#include "../parts/epilogue.cuh"
#include "tiles.cuh"

namespace ladder::library {

template <class T>
void launch_b_by_columns(const Candidate& c, const Gemm<T, T>& p) {
  launch_tile<T, Major::K, Major::K, TILES>(c, p, ProductAlone{});
}
template <class T>
void launch_b_by_columns_fused(const Candidate& c, const Gemm<T, T>& p) {
  launch_tile<T, Major::K, Major::K, TILES>(c, p, FusedAny<T>{p.epilogue});
}

template <class T>
void launch_a_by_columns(const Candidate& c, const Gemm<T, T>& p) {
  const auto launch = [&](const auto& finish) {
    if (p.transposed_b)
      launch_tile<T, Major::MN, Major::K, A_BY_COLUMNS>(c, p, finish);
    else
      launch_tile<T, Major::MN, Major::MN, A_BY_COLUMNS>(c, p, finish);
  };
  if (is_product_alone(p.epilogue))
    launch(ProductAlone{});
  else
    launch(FusedAny<T>{p.epilogue});
}

}  // namespace ladder::library
