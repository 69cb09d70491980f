#pragma once
// Plain C++.

namespace ladder {

// The rows of A that tiles of up to BM rows have, all as many, give or take one: `down` such tiles
// below each other are a cluster's. Tiles of a column read the same of B. A low one among them,
// which has less of A to read, runs ahead, and what it has read of a large B is gone from L2 when
// the others come to it. BM where the last tile would have no row.
constexpr int even_rows(int M, int BM, int down) {
  const int tiles = (M + down * BM - 1) / (down * BM) * down;
  const int rows = (M + tiles - 1) / tiles;
  return (tiles - 1) * rows < M ? rows : BM;
}

// And of the last piece of such a tile's C, where a piece has `piece` rows.
constexpr int last_piece(int rows, int piece) {
  return rows - (rows - 1) / piece * piece;
}

}  // namespace ladder
