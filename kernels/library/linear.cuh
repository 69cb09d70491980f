#pragma once
// The kernels for linear layers, found by their tiles.
#include <array>
#include <utility>

#include "../linear_layer.cuh"
#include "launch.h"
#include "plan.h"

namespace ladder::library {

template <class T, size_t... I>
constexpr std::array<linear_layer::Configuration<T>, sizeof...(I)> linear_configurations(
    std::index_sequence<I...>) {
  return {linear_layer::configuration<T, LINEAR_TILES[I].BM, LINEAR_TILES[I].BN,
                                      LINEAR_TILES[I].split>()...};
}
template <class T>
inline constexpr auto LINEAR =
    linear_configurations<T>(std::make_index_sequence<std::size(LINEAR_TILES)>());

template <class T>
void launch_linear(const tuned::Candidate& c, const Gemm<T, T>& p) {
  for (const linear_layer::Configuration<T>& x : LINEAR<T>)
    if (x.BM == c.BM && x.BN == c.BN && x.split == c.split)
      return linear_layer::gemm_as(x, p, c.resident);
  throw std::logic_error("no kernel for linear layers has the tile of " + name(c));
}

}  // namespace ladder::library
