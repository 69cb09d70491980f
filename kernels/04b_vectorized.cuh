#pragma once
// 04b vectorized: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    move 16 bytes with every instruction: 4 loads from shared memory for 64 FMAs, not 16.
// vs 04   all accesses are float4. For that a thread's elements of C are quads, 64 apart, instead
//         of single ones, and A is transposed on its way to shared memory, so that the rows a
//         thread needs are consecutive there. Rows of sA are padded.
//         `scalar` has 04's elements, copied as here.
// Limit   nobody multiplies while a tile is copied: a load is waited for where it is issued, and
//         two blocks a multiprocessor are too few to hide that. Next: 04c.
#include "launch.cuh"
#include "parts/vector_access.cuh"

namespace ladder::vectorized {

constexpr int THREADS = 256;
constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;

template <bool QUADS>
__global__ void __launch_bounds__(THREADS, 2)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  // Rows of 132: a warp's transposing stores cover 16 rows of A and two quads of k. The quads are
  // 4 * 132 floats apart, which is 16 banks, so that the 32 lanes hit 32 banks.
  __shared__ __align__(16) float sA[BK][BM + 4], sB[BK][BN];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;

  const int a_m = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
  const int b_k = threadIdx.x / 32, b_n = threadIdx.x % 32 * 4;
  const bool a_row_exists = row0 + a_m < M;

  float acc[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    const float4 a = load4(&A[(row0 + a_m) * lda + k0 + a_k], a_row_exists ? K - k0 - a_k : 0);
    sA[a_k + 0][a_m] = a.x;
    sA[a_k + 1][a_m] = a.y;
    sA[a_k + 2][a_m] = a.z;
    sA[a_k + 3][a_m] = a.w;
    as_float4(sB[b_k][b_n]) =
        load4(&B[(k0 + b_k) * ldb + col0 + b_n], k0 + b_k < K ? N - col0 - b_n : 0);
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      if (QUADS) {
        for (int j = 0; j < TN; j += 4) as_float4(rB[j]) = as_float4(sB[k][tx * 4 + j * 16]);
        for (int i = 0; i < TM; i += 4) as_float4(rA[i]) = as_float4(sA[k][ty * 4 + i * 16]);
      } else {
        for (int j = 0; j < TN; ++j) rB[j] = sB[k][tx + j * 16];
        for (int i = 0; i < TM; ++i) rA[i] = sA[k][ty + i * 16];
      }
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += rA[i] * rB[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    if constexpr (QUADS) {
      const int row = row0 + ty * 4 + i / 4 * 64 + i % 4;
      for (int j = 0; j < TN; j += 4) {
        const int col = col0 + tx * 4 + j * 16;
        const float4 quad = make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
        if (row < M) store4(&C[row * ldc + col], quad, N - col);
      }
    } else {
      const int row = row0 + ty + i * 16;
      for (int j = 0; j < TN; ++j) {
        const int col = col0 + tx + j * 16;
        if (row < M && col < N) C[row * ldc + col] = acc[i][j];
      }
    }
  }
}

template <bool QUADS>
void launch_tiles(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel<QUADS>, grid_2d(p.M, p.N, BM, BN), dim3(THREADS), 0, p.stream, p.M, p.N, p.K,
         p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}
// A thread has the elements of 04, 16 apart, and reads and stores them one at a time.
inline void gemm_scalar(const Gemm<float, float>& p) {
  launch_tiles<false>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<true>(p);
}

}  // namespace ladder::vectorized
