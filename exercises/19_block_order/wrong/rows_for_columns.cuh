// refused: past the end|wrong result
// A band has GROUP x tiles_m tiles: right where C is as high as wide.
#include "exercise.h"

// A tile of C: the row and the column of tiles that it lies in.
struct Tile {
  int row, column;
};

constexpr int GROUP = 4;  // rows of tiles in a band

// Which tile the block `number` computes. C has tiles_m rows of tiles_n tiles.
static __device__ Tile tile_of(int number, int tiles_m, int tiles_n) {
  const int first = number / (GROUP * tiles_m) * GROUP;  // the band's first row
  const int height = min(GROUP, tiles_m - first), rest = number % (GROUP * tiles_m);
  return {first + rest % height, rest / height};
}
