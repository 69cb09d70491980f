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

// The same with 16's epilogue; but for A and B by rows, whose kernel with one is 16's own.
template <class T, int BM, int BN>
void launch_and_finish(const Gemm<T, T>& p, int tiles_of_C, int blocks) {
  constexpr ptx::Major K = ptx::Major::K, MN = ptx::Major::MN;
  const FusedAny<T> finish{p.epilogue};
  if (!p.transposed_a)
    layouts::launch_and_finish<T, BM, BN, K, K>(p, tiles_of_C, blocks, finish);
  else if (p.transposed_b)
    layouts::launch_and_finish<T, BM, BN, MN, K>(p, tiles_of_C, blocks, finish);
  else
    layouts::launch_and_finish<T, BM, BN, MN, MN>(p, tiles_of_C, blocks, finish);
}
template <class T>
inline constexpr layouts::Configuration<T> WITH_EPILOGUE[] = {
    {64, 128, 0, 0, launch_and_finish<T, 64, 128>},
    {128, 128, 0, 0, launch_and_finish<T, 128, 128>},
    {128, 256, 0, 0, launch_and_finish<T, 128, 256>},
    {160, 256, 0, 0, launch_and_finish<T, 160, 256>},
    {168, 256, 0, 0, launch_and_finish<T, 168, 256>}};

template <class T>
void launch_layout(const tuned::Candidate& c, const Gemm<T, T>& p) {
  const auto find = [&](const auto& configurations) {
    for (const layouts::Configuration<T>& x : configurations)
      if (x.BM == c.BM && x.BN == c.BN) return &x;
    throw std::logic_error("no kernel of 18 has the tile of " + name(c));
  };
  if (is_product_alone(p.epilogue)) return layouts::gemm_as(*find(layouts::CONFIGURATIONS<T>), p);
  const auto& x = *find(WITH_EPILOGUE<T>);
  x.launch(p, tiles(p, x), ceil_div(tiles(p, x), waves(p, x)));
}

}  // namespace ladder::library
