// refused: reads shared memory that this block has not written|race
// A lane reads a pair that another lane brings, with no barrier between.
#include "exercise.h"

constexpr int ROWS = 16, COLUMNS = 64, BK = 32;  // of a tile of C, and of a step along K
using Staged = half[ROWS][COLUMNS + 8];

static __device__ float gelu(float x) {
  return x / 2 * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

// C = gelu(acc + bias of the column) + residual, of the warp's tile at m0, n0. acc[j] has columns
// 8 j to 8 j + 7, of which lane l has 2 (l % 4) and the next one: acc[j][0] and acc[j][1] in row
// l / 4, acc[j][2] and acc[j][3] eight rows below.
static __device__ void finish(const float (&acc)[8][4], Staged& staged, int m0, int n0, int M,
                              int N, const float* bias, const half* residual, half* C) {
  const int lane = threadIdx.x;
  for (int i = lane; i < ROWS * COLUMNS / 8; i += 32) {
    const int m = i / 8, n = i % 8 * 8;
    if (m0 + m < M && n0 + n < N)
      reinterpret_cast<uint4&>(staged[m][n]) =
          reinterpret_cast<const uint4&>(residual[(m0 + m) * N + n0 + n]);
  }
  for (int j = 0; j < 8; ++j) {
    const int n = 8 * j + lane % 4 * 2;
    if (n0 + n >= N) continue;
    const float2 its = reinterpret_cast<const float2&>(bias[n0 + n]);
    for (int h = 0; h < 2; ++h) {
      const int m = lane / 4 + 8 * h;
      if (m0 + m >= M) continue;
      half2& pair = reinterpret_cast<half2&>(staged[m][n]);
      const half2 around = pair;
      pair = __floats2half2_rn(gelu(acc[j][2 * h] + its.x) + __low2float(around),
                               gelu(acc[j][2 * h + 1] + its.y) + __high2float(around));
    }
  }
  __syncwarp();  // the results are there
  for (int i = lane; i < ROWS * COLUMNS / 8; i += 32) {
    const int m = i / 8, n = i % 8 * 8;
    if (m0 + m < M && n0 + n < N)
      reinterpret_cast<uint4&>(C[(m0 + m) * N + n0 + n]) =
          reinterpret_cast<const uint4&>(staged[m][n]);
  }
}

struct Tiles {
  half A[ROWS][BK + 8];
  half B[BK][COLUMNS + 8];
};

// Given. Blocks of one warp, one for each tile of C: blockIdx.x along N, which is a multiple of 8,
// and blockIdx.y along M.
static __global__ void layer_kernel(int M, int N, int K, const half* A, const half* B,
                                    const float* bias, const half* residual, half* C) {
  __shared__ __align__(16) Tiles tiles;
  __shared__ __align__(16) Staged staged;
  const int lane = threadIdx.x, m0 = blockIdx.y * ROWS, n0 = blockIdx.x * COLUMNS;
  const half zero = __float2half(0.0f);

  float acc[8][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int m = 0; m < ROWS; ++m)
      tiles.A[m][lane] = m0 + m < M && k0 + lane < K ? A[(m0 + m) * K + k0 + lane] : zero;
    for (int i = lane; i < BK * COLUMNS; i += 32) {
      const int k = i / COLUMNS, n = i % COLUMNS;
      tiles.B[k][n] = k0 + k < K && n0 + n < N ? B[(k0 + k) * N + n0 + n] : zero;
    }
    __syncwarp();  // the tiles are complete
    for (int k = 0; k < BK; k += 16) {
      uint32_t a[4], b[4];
      ptx::ldmatrix_x4(a, &tiles.A[lane % 16][k + lane / 16 * 8]);
      for (int j = 0; j < 8; j += 2) {
        ptx::ldmatrix_x4_trans(b, &tiles.B[k + lane % 16][8 * j + lane / 16 * 8]);
        ptx::mma_m16n8k16_f32_f16(acc[j], a, b[0], b[1]);
        ptx::mma_m16n8k16_f32_f16(acc[j + 1], a, b[2], b[3]);
      }
    }
    __syncwarp();  // nobody reads them any more
  }
  finish(acc, staged, m0, n0, M, N, bias, residual, C);
}
