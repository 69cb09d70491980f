// refused: too expensive: 144 load sectors
// There are bands, but in a band the tiles are numbered along its rows.
#include "exercise.h"

// A tile of C: the row and the column of tiles that it lies in.
struct Tile {
  int row, column;
};

constexpr int GROUP = 4;  // rows of tiles in a band

// Which tile the block `number` computes. C has tiles_m rows of tiles_n tiles.
static __device__ Tile tile_of(int number, int tiles_m, int tiles_n) {
  const int first = number / (GROUP * tiles_n) * GROUP;  // the band's first row
  const int height = min(GROUP, tiles_m - first), rest = number % (GROUP * tiles_n);
  return {first + rest / tiles_n, rest % tiles_n};
}
