#pragma once
// 13's kernel and 13b's with tiles that the model of 15 knows, for one layout and one epilogue.
#include <cstddef>
#include <utility>

#include "../13_fit_the_waves.cuh"
#include "../13b_ping_pong.cuh"
#include "candidates.h"
#include "launch.h"

namespace ladder::library {

using fit_the_waves::Tiling;
using ptx::Major;

constexpr fit_the_waves::Pairs pairs_of(const Candidate& c) {
  using fit_the_waves::Pairs;
  return c.down == 1 ? (c.across == 1 ? Pairs::NONE : Pairs::SHARE_A)
                     : (c.across == 1 ? Pairs::SHARE_B : Pairs::SHARE_BOTH);
}

template <class T, Major MAJOR_A, Major MAJOR_B, const auto& TILES, size_t I, class Finish>
void launch_number(const Gemm<T, T>& p, int tiles_of_C, int clusters, const Finish& finish) {
  constexpr Candidate C = TILES[I];
  if constexpr (C.kernel == Kernel::FIT_THE_WAVES)
    fit_the_waves::launch_and_finish<T, C.BM, C.BN, pairs_of(C), MAJOR_A, MAJOR_B>(
        p, tiles_of_C, clusters, finish);
  else
    ping_pong::launch_and_finish<T, C.BM, C.BN, pairs_of(C), ping_pong::Order::IN_TURN, MAJOR_A,
                                 MAJOR_B>(p, tiles_of_C, clusters, finish);
}
template <class T, Major MAJOR_A, Major MAJOR_B, const auto& TILES, class Finish, size_t... I>
void launch_tile(const Candidate& c, const Gemm<T, T>& p, const Finish& finish,
                 std::index_sequence<I...>) {
  constexpr void (*LAUNCH[])(const Gemm<T, T>&, int, int, const Finish&) = {
      launch_number<T, MAJOR_A, MAJOR_B, TILES, I, Finish>...};
  const Tiling tiling{c.BM, c.BN, pairs_of(c)};
  const int all = tiles(p, tiling);
  for (size_t i = 0; i < std::size(TILES); ++i)
    // No more blocks than it takes to be done in as many waves.
    if (TILES[i] == c) return LAUNCH[i](p, all, ceil_div(all, waves(p, tiling)), finish);
  throw std::logic_error("no kernel of " + name(c));
}
// Launches the kernel of `c`, one of TILES. Throws CudaError where there is no TMA.
template <class T, Major MAJOR_A, Major MAJOR_B, const auto& TILES, class Finish>
void launch_tile(const Candidate& c, const Gemm<T, T>& p, const Finish& finish) {
  launch_tile<T, MAJOR_A, MAJOR_B, TILES>(c, p, finish,
                                          std::make_index_sequence<std::size(TILES)>());
}

}  // namespace ladder::library
