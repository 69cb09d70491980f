#include "exercise.h"

// A tile of C: the row and the column of tiles that it lies in.
struct Tile {
  int row, column;
};

// Which tile the block `number` computes. C has tiles_m rows of tiles_n tiles.
static __device__ Tile tile_of(int number, int tiles_m, int tiles_n) {
  return {number / tiles_n, number % tiles_n};
}
