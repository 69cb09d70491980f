// refused: wrong result: heights .* is 128, not 160
// The starter: 128 rows at any shape.
#include "exercise.h"

constexpr int WIDTH = 256;    // columns of a tile
constexpr int HIGHEST = 192;  // rows; a tile may have 8, 16, 24, ... of them
constexpr int ARRIVALS = 75;  // what a wave takes in addition to its rows

struct Choice {
  int height;  // rows of a tile
  int blocks;
};

// For C of M x N, where `places` blocks run at a time.
static __device__ Choice best(int M, int N, int places) {
  return {128, places};  // Your code.
}

// Given. A thread for each of n shapes.
static __global__ void choose_kernel(int n, const int* M, const int* N, int places, int* heights,
                                     int* blocks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Choice choice = best(M[i], N[i], places);
  heights[i] = choice.height;
  blocks[i] = choice.blocks;
}
