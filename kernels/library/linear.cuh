#pragma once
// The kernels for linear layers of few rows, found by their tiles.
#include "../linear_layer.cuh"
#include "launch.h"

namespace ladder::library {

constexpr bool has_all_linear_tiles() {
  bool has_all = true;
  for (const auto& c : few_rows::CONFIGURATIONS<half>) {
    bool has = c.BN != linear_layer::BOX || c.split > 4;
    for (const auto& x : linear_layer::CONFIGURATIONS<half>)
      has |= x.BM == c.BM && x.BN == c.BN && x.split == c.split;
    has_all &= has;
  }
  return has_all;
}
static_assert(has_all_linear_tiles(), "plan.h chooses among 14's tiles of 64 columns");

template <class T>
void launch_linear(const tuned::Candidate& c, const Gemm<T, T>& p) {
  for (const linear_layer::Configuration<T>& x : linear_layer::CONFIGURATIONS<T>)
    if (x.BM == c.BM && x.BN == c.BN && x.split == c.split)
      return linear_layer::gemm_as(x, p, c.resident);
  throw std::logic_error("no kernel for linear layers has the tile of " + name(c));
}

}  // namespace ladder::library
