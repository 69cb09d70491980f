#pragma once
// What the library is compiled for: candidates of the model, by layout and epilogue. No table is
// needed to know them: a new one compiles no kernel again. Plain C++.
#include <cstddef>

#include "../tuned/model.h"

namespace ladder::library {

using tuned::Candidate;
using tuned::Kernel;

constexpr Candidate of_13(int BM, int BN, int down = 1, int across = 1) {
  return {Kernel::FIT_THE_WAVES, BM, BN, down, across, 1, 1};
}
constexpr Candidate of_13b(int BM, int BN, int down = 1, int across = 1) {
  return {Kernel::PING_PONG, BM, BN, down, across, 1, 1};
}
// The tiles of 13 and 13b that the library has where A is by rows and there is no epilogue or B is
// by columns: of those of the stages all but nine, without which problems take less than 0.02%
// longer by the model (8,836 of them; H100 and H200), and tuned::MORE_HEIGHTS.
inline constexpr Candidate TILES[] = {
    of_13(64, 128),        of_13(72, 128),        of_13(80, 128),        of_13(88, 128),
    of_13(96, 128),        of_13(104, 128),       of_13(112, 128),       of_13(120, 128),
    of_13(128, 128),       of_13(144, 128),       of_13(192, 128),       of_13(208, 128),
    of_13(232, 128),       of_13(256, 128),       of_13(64, 256),        of_13(72, 256),
    of_13(88, 256),        of_13(104, 256),       of_13(120, 256),       of_13(128, 256),
    of_13(136, 256),       of_13(144, 256),       of_13(152, 256),       of_13(160, 256),
    of_13(168, 256),       of_13(176, 256),       of_13(192, 256),       of_13(64, 128, 1, 2),
    of_13(128, 128, 1, 2), of_13(128, 256, 1, 2), of_13(152, 256, 1, 2), of_13(160, 256, 1, 2),
    of_13(64, 128, 2, 1),  of_13(128, 128, 2, 1), of_13(128, 256, 2, 1), of_13(144, 256, 2, 1),
    of_13(152, 256, 2, 1), of_13(64, 128, 2, 2),  of_13(72, 128, 2, 2),  of_13(96, 128, 2, 2),
    of_13b(32, 64),        of_13b(56, 64),        of_13b(64, 64),        of_13b(72, 64),
    of_13b(128, 64),       of_13b(64, 128),       of_13b(96, 128),       of_13b(104, 128),
    of_13b(128, 128),      of_13b(144, 128),      of_13b(152, 128),      of_13b(160, 128),
    of_13b(168, 128),      of_13b(176, 128),      of_13b(64, 192),       of_13b(72, 192),
    of_13b(80, 192),       of_13b(88, 192),       of_13b(96, 192),       of_13b(104, 192),
    of_13b(112, 192),      of_13b(120, 192),      of_13b(128, 192),      of_13b(160, 128, 1, 2)};
// The tiles that 16 has, and those that 18's layouts have where A is by columns, each a candidate
// of 13's or 13b's: they are expected to take as long.
inline constexpr Candidate FUSED_TILES[] = {of_13(64, 128),  of_13(104, 256), of_13(128, 256),
                                            of_13(168, 256), of_13(176, 256), of_13b(128, 128),
                                            of_13b(176, 128)};
// Of an A by columns: tiles whose rows begin on lines, and some that fit where these do not.
inline constexpr Candidate A_BY_COLUMNS[] = {
    of_13(64, 128),  of_13(128, 128), of_13(192, 128),  of_13(256, 128), of_13(64, 256),
    of_13(128, 256), of_13(160, 256), of_13(168, 256),  of_13(192, 256), of_13b(64, 64),
    of_13b(128, 64), of_13b(64, 128), of_13b(128, 128), of_13b(128, 192)};
// Those of the kernel for linear layers: 14's, but for the widest clusters, and larger ones.
struct LinearTile {
  int BM, BN, split;
};
inline constexpr LinearTile LINEAR_TILES[] = {
    {8, 64, 1},    {8, 64, 2},    {8, 64, 4},   {16, 64, 1},  {16, 64, 2},
    {16, 64, 4},   {32, 64, 1},   {32, 64, 2},  {32, 64, 4},  {56, 64, 1},
    {56, 64, 2},   {64, 64, 1},   {64, 64, 2},  {64, 64, 4},  {72, 64, 4},
    {104, 64, 1},  {104, 64, 4},  {128, 64, 4}, {72, 128, 4}, {88, 128, 4},
    {104, 128, 4}, {152, 128, 4}, {72, 256, 4}, {88, 256, 4}, {104, 256, 4}};
constexpr bool is_linear_tile(const Candidate& c) {
  if (c.kernel != Kernel::FEW_ROWS) return false;
  for (const LinearTile& tile : LINEAR_TILES)
    if (tile.BM == c.BM && tile.BN == c.BN && tile.split == c.split) return true;
  return false;
}

template <size_t COUNT>
constexpr bool is_among(const Candidate& c, const Candidate (&all)[COUNT]) {
  for (const Candidate& other : all)
    if (c == other) return true;
  return false;
}

}  // namespace ladder::library
