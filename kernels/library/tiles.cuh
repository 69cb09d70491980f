#pragma once
// 13's kernel and 13b's with tiles that the model of 15 knows, for one layout and one epilogue.
#include <array>
#include <cstddef>
#include <utility>

#include "../13_fit_the_waves.cuh"
#include "../13b_ping_pong.cuh"
#include "../tuned/gpus.h"
#include "launch.h"

namespace ladder::library {

using fit_the_waves::Tiling;
using ptx::Major;
using tuned::Candidate;
using tuned::Kernel;

// All tiles that the two stages have.
constexpr auto all_tiles() {
  std::array<Candidate, std::size(fit_the_waves::TILINGS) + std::size(ping_pong::TILINGS)> all{};
  size_t count = 0;
  const auto append = [&](Kernel kernel, const auto& tilings) {
    for (const Tiling& t : tilings)
      all[count++] = {kernel, t.BM, t.BN, down_of(t.pairs), across_of(t.pairs), 1, 1};
  };
  append(Kernel::FIT_THE_WAVES, fit_the_waves::TILINGS);
  append(Kernel::PING_PONG, ping_pong::TILINGS);
  return all;
}
inline constexpr auto ALL_TILES = all_tiles();

// plan.h takes what a table has of these kernels.
constexpr bool has_all_tiles() {
  bool has_all = true;
  const auto look_at = [&](const tuned::Row* rows, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const Candidate& c = rows[i].candidate;
      bool has = c.kernel != Kernel::FIT_THE_WAVES && c.kernel != Kernel::PING_PONG;
      for (const Candidate& tile : ALL_TILES) has |= tile == c;
      has_all &= has;
    }
  };
  for (const tuned::Gpu* gpu : tuned::GPUS) {
    look_at(gpu->rows, gpu->count);
    look_at(gpu->b_by_columns, gpu->count_by_columns);
  }
  return has_all;
}
static_assert(has_all_tiles(), "a table has a tile that neither 13 nor 13b has");

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
