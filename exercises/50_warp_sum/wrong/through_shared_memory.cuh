// refused: too expensive: .*shared requests in 16 x 256
// Right, but registers go to shared memory and back.
#include "exercise.h"

// Blocks of 256 threads, eight warps: each warp adds up one row.
static __global__ void warp_sum_kernel(int rows, int columns, const float* in, int ld, float* out) {
  const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
  __shared__ float sums[8][32];
  if (row >= rows) return;

  float sum = 0;
#pragma unroll 16
  for (int i = lane; i < columns; i += 32) sum += in[row * ld + i];
  float* const mine = sums[threadIdx.x / 32];
  mine[lane] = sum;
  __syncwarp();
  for (int other = 1; other < 32; ++other)
    if (lane == 0) sum += mine[other];
  if (lane == 0) out[row] = sum;
}
