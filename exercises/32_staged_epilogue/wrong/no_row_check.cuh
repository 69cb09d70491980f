// refused: past the end of C
// The last tile may have fewer than 32 rows.
#include "exercise.h"

constexpr int PITCH = 64 + 8;  // halves: 36 words, nine times 16 bytes

// C = sums, rounded to halves. Blocks of two warps, one for each 32 x 64 tile of C: blockIdx.x
// along N, blockIdx.y along M.
static __global__ void epilogue_kernel(int M, int N, const float* sums, int lds, half* C, int ldc) {
  __shared__ __align__(16) half staged[2][16][PITCH];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int m0 = blockIdx.y * 32 + warp * 16, n0 = blockIdx.x * 64;  // of this warp

  // Eight squares of 16 x 8, as mma.sync would have left them.
  float acc[8][4];
  for (int j = 0; j < 8; ++j)
    for (int e = 0; e < 4; ++e) {
      const int row = m0 + e / 2 * 8 + lane / 4, column = n0 + j * 8 + lane % 4 * 2 + e % 2;
      acc[j][e] = row < M && column < N ? sums[row * lds + column] : 0.0f;
    }

  for (int j = 0; j < 8; ++j)
    for (int h = 0; h < 2; ++h)
      *reinterpret_cast<half2*>(&staged[warp][h * 8 + lane / 4][j * 8 + lane % 4 * 2]) =
          __floats2half2_rn(acc[j][2 * h], acc[j][2 * h + 1]);
  __syncwarp();  // the warp's rows are complete
  for (int i = lane; i < 16 * 8; i += 32) {
    const int row = i / 8, column = i % 8 * 8;
    if (n0 + column < N)
      *reinterpret_cast<uint4*>(&C[(m0 + row) * ldc + n0 + column]) =
          *reinterpret_cast<const uint4*>(&staged[warp][row][column]);
  }
}
