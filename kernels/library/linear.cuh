#pragma once
// 14's kernel for linear layers: B by rows or by columns, and an epilogue between a sum and its
// store, in one kernel for every kind of it.
#include <array>
#include <utility>

#include "../14_few_rows.cuh"
#include "candidates.h"
#include "launch.h"

namespace ladder::library {

template <class T>
struct Linear {
  LinearTile tile;
  int (*buffers)(int blocks);                        // with so many blocks on a multiprocessor
  void (*launch[2])(const Gemm<T, T>&, int blocks);  // of a B by rows, and by columns
};
template <class T, int BM, int BN, int SPLIT, ptx::Major MAJOR_B>
void launch_form(const Gemm<T, T>& p, int blocks) {
  few_rows::launch_and_finish<T, BM, BN, SPLIT, MAJOR_B>(p, blocks, FusedAny<T>{p.epilogue});
}
template <class T, int BM, int BN, int SPLIT>
constexpr Linear<T> linear() {
  using ptx::Major;
  return {{BM, BN, SPLIT},
          few_rows::buffers_of<few_rows::Shared<T, BM, BN, SPLIT>>,
          {launch_form<T, BM, BN, SPLIT, Major::MN>, launch_form<T, BM, BN, SPLIT, Major::K>}};
}
template <class T, size_t... I>
constexpr std::array<Linear<T>, sizeof...(I)> linear_of(std::index_sequence<I...>) {
  return {linear<T, LINEAR_TILES[I].BM, LINEAR_TILES[I].BN, LINEAR_TILES[I].split>()...};
}
template <class T>
inline constexpr auto LINEAR = linear_of<T>(std::make_index_sequence<std::size(LINEAR_TILES)>());

template <class T>
void launch_linear(const tuned::Candidate& c, const Gemm<T, T>& p) {
  for (const auto& [tile, buffers, launch] : LINEAR<T>)
    if (tile.BM == c.BM && tile.BN == c.BN && tile.split == c.split)
      return launch[p.transposed_b](p, c.resident);
  throw std::logic_error("no kernel for linear layers has the tile of " + name(c));
}

}  // namespace ladder::library
