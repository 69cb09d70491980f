// refused: past the end|wrong result
// Squares of 4 x 4 tiles one after the other: right where both sides are multiples of 4.
#include "exercise.h"

// A tile of C: the row and the column of tiles that it lies in.
struct Tile {
  int row, column;
};

constexpr int GROUP = 4;  // rows of tiles in a band

// Which tile the block `number` computes. C has tiles_m rows of tiles_n tiles.
static __device__ Tile tile_of(int number, int tiles_m, int tiles_n) {
  const int square = number / 16, rest = number % 16, across = ceil_div(tiles_n, 4);
  return {square / across * 4 + rest % 4, square % across * 4 + rest / 4};
}
