// refused: too expensive: 144 load sectors
// The same, lying down: 16 rows and 2 columns.
#include "exercise.h"

// A tile of C: the row and the column of tiles that it lies in.
struct Tile {
  int row, column;
};

constexpr int GROUP = 4;  // rows of tiles in a band

// Which tile the block `number` computes. C has tiles_m rows of tiles_n tiles.
static __device__ Tile tile_of(int number, int tiles_m, int tiles_n) {
  return {number % tiles_m, number / tiles_m};
}
