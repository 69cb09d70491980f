// refused: deadlock
// The lanes that have nothing to add leave the shuffle, which waits for them.
#include "exercise.h"

// Blocks of 256 threads, eight warps: each warp adds up one row.
static __global__ void warp_sum_kernel(int rows, int columns, const float* in, int ld, float* out) {
  const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
  if (row >= rows) return;  // the whole warp

  float sum = 0;
#pragma unroll 16
  for (int i = lane; i < columns; i += 32) sum += in[row * ld + i];
  for (int distance = 16; distance > 0; distance /= 2)
    if (lane < distance) sum += __shfl_down_sync(~0u, sum, distance);
  if (lane == 0) out[row] = sum;
}
