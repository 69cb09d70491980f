#include "exercise.h"

constexpr int BK = 32;
constexpr int PITCH = 32 + 8;  // halves, of both tiles

// 16 x 16 of A, which begin at `block`.
static __device__ void load_a(uint32_t (&a)[4], const half* block) {
  ptx::ldmatrix_x4(a, block + threadIdx.x % 16 * PITCH + threadIdx.x / 16 * 8);
}
// 16 x 16 of B: columns 0 to 7 in registers 0 and 1, columns 8 to 15 in registers 2 and 3.
static __device__ void load_b(uint32_t (&b)[4], const half* block) {
  ptx::ldmatrix_x4_trans(b, block + threadIdx.x % 16 * PITCH + threadIdx.x / 16 * 8);
}

// acc[i][j] += rows 16 i to 16 i + 15 of sA times columns 8 j to 8 j + 7 of sB.
static __device__ void multiply(float (&acc)[2][4][4], const half (&sA)[32][PITCH],
                                const half (&sB)[BK][PITCH]) {
  uint32_t a[4], b[4];
  load_a(a, &sA[0][0]);
  load_b(b, &sB[0][0]);
  ptx::mma_m16n8k16_f32_f16(acc[0][0], a, b[0], b[1]);
  // Your code: this is one of 16.
}

// Blocks of one warp, one for each 32 x 32 tile of C: blockIdx.x along N, blockIdx.y along M.
static __global__ void gemm_kernel(int M, int N, int K, const half* A, int lda, const half* B,
                                   int ldb, float* C, int ldc) {
  __shared__ __align__(16) half sA[32][PITCH], sB[BK][PITCH];
  const int lane = threadIdx.x, m0 = blockIdx.y * 32, n0 = blockIdx.x * 32;
  const half zero = __float2half(0.0f);

  float acc[2][4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < 32; ++i) {  // a row of each tile
      sA[i][lane] = m0 + i < M && k0 + lane < K ? A[(m0 + i) * lda + k0 + lane] : zero;
      sB[i][lane] = k0 + i < K && n0 + lane < N ? B[(k0 + i) * ldb + n0 + lane] : zero;
    }
    __syncthreads();  // the tiles are complete
    multiply(acc, sA, sB);
    __syncthreads();  // nobody reads them any more
  }

  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int e = 0; e < 4; ++e) {
        const int row = m0 + i * 16 + e / 2 * 8 + lane / 4;
        const int column = n0 + j * 8 + lane % 4 * 2 + e % 2;
        if (row < M && column < N) C[row * ldc + column] = acc[i][j][e];
      }
}
