#include "exercise.h"

constexpr int TILE = 64, BK = 8;

struct Place {
  int m, n;
};

// Where in the block's tile of 64 x 64 the 4 x 4 elements of a thread begin. `thread` is 0 to 255.
static __device__ Place place_of(int thread) {
  const int warp = thread / 32, lane = thread % 32;
  // Lanes l and l ^ 1 have the same rows, lanes l and l ^ 2 the same columns.
  const int lane_m = lane / 2 % 4, lane_n = lane / 8 * 2 + lane % 2;
  return {warp % 4 * 16 + lane_m * 4, warp / 4 * 32 + lane_n * 4};
}

static __device__ float4 quad(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// Blocks of 256 threads, one for each tile of C: blockIdx.x along N, blockIdx.y along M. N is a
// multiple of 4, and rows of C begin on 16 bytes.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int lda, const float* B,
                                   int ldb, float* C, int ldc) {
  __shared__ __align__(16) float sA[BK][TILE + 4], sB[BK][TILE];
  const int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
  const Place place = place_of(threadIdx.x);

  float acc[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < TILE * BK; i += 256) {
      const int m = i / BK, a_k = i % BK, n = i % TILE, b_k = i / TILE;
      sA[a_k][m] = m0 + m < M && k0 + a_k < K ? A[(m0 + m) * lda + k0 + a_k] : 0.0f;
      sB[b_k][n] = k0 + b_k < K && n0 + n < N ? B[(k0 + b_k) * ldb + n0 + n] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      const float4 a = quad(sA[k][place.m]), b = quad(sB[k][place.n]);
      const float rA[4] = {a.x, a.y, a.z, a.w}, rB[4] = {b.x, b.y, b.z, b.w};
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] += rA[i] * rB[j];
    }
    __syncthreads();
  }

  const int column = n0 + place.n;
  for (int i = 0; i < 4; ++i) {
    const int row = m0 + place.m + i;
    if (row < M && column < N)
      reinterpret_cast<float4&>(C[row * ldc + column]) =
          make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
  }
}
