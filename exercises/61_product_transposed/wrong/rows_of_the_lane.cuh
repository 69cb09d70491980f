// refused: race|wrong result: C
// The address of the lane's own elements: stmatrix wants that of a row of a square.
#include "exercise.h"

constexpr int ROWS = 8, COLUMNS = 64, BK = 32;  // of a tile of C, and of a step along K

struct Tiles {
  half A[ROWS][BK + 8];
  half B[BK][COLUMNS + 8];
};

static __device__ uint32_t as_halves(float low, float high) {
  const half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// Adds a step: acc[j] is C transposed, 16 x 8, of columns 16 j to 16 j + 15.
static __device__ void multiply(float (&acc)[4][4], const Tiles& tiles) {
  const int lane = threadIdx.x;
  uint32_t a[4];  // the second operand of two multiplications
  ptx::ldmatrix_x4(a, &tiles.A[lane % 8][lane / 8 * 8]);
  for (int k = 0; k < BK; k += 16)
    for (int j = 0; j < 4; ++j) {
      uint32_t b[4];
      ptx::ldmatrix_x4_trans(b, &tiles.B[k + lane / 16 * 8 + lane % 8][16 * j + lane / 8 % 2 * 8]);
      ptx::mma_m16n8k16_f32_f16(acc[j], b, a[k / 8], a[k / 8 + 1]);
    }
}

// The sums, rounded, as 8 rows of C.
static __device__ void stage(half (&staged)[ROWS][COLUMNS + 8], const float (&acc)[4][4]) {
  const int lane = threadIdx.x;
  for (int j = 0; j < 4; j += 2) {
    const float *const left = acc[j], *const right = acc[j + 1];
    const uint32_t squares[4] = {as_halves(left[0], left[1]), as_halves(left[2], left[3]),
                                 as_halves(right[0], right[1]), as_halves(right[2], right[3])};
    ptx::stmatrix_x4_trans(&staged[lane / 4][16 * j + lane % 4 * 8], squares);
  }
}

// Given. Blocks of one warp, one for each 64 columns of C, which has at most 8 rows; N is a
// multiple of 8.
static __global__ void gemm_kernel(int M, int N, int K, const half* A, const half* B, half* C) {
  __shared__ __align__(16) Tiles tiles;
  __shared__ __align__(16) half staged[ROWS][COLUMNS + 8];
  const int lane = threadIdx.x, n0 = blockIdx.x * COLUMNS;
  const half zero = __float2half(0.0f);

  float acc[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int m = 0; m < ROWS; ++m)
      tiles.A[m][lane] = m < M && k0 + lane < K ? A[m * K + k0 + lane] : zero;
    for (int i = lane; i < BK * COLUMNS; i += 32) {
      const int k = i / COLUMNS, n = i % COLUMNS;
      tiles.B[k][n] = k0 + k < K && n0 + n < N ? B[(k0 + k) * N + n0 + n] : zero;
    }
    __syncwarp();  // the tiles are complete
    multiply(acc, tiles);
    __syncwarp();  // nobody reads them any more
  }

  stage(staged, acc);
  __syncwarp();
  for (int i = lane; i < ROWS * COLUMNS / 8; i += 32) {
    const int m = i / 8, n = i % 8 * 8;
    if (m < M && n0 + n < N)
      reinterpret_cast<uint4&>(C[m * N + n0 + n]) = reinterpret_cast<const uint4&>(staged[m][n]);
  }
}
