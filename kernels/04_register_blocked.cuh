#pragma once
// 04 register_blocked: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    a thread computes TMxTN elements of C: TM + TN operands from shared memory feed TM * TN
//         FMAs, so the shared-memory pipe is no longer the limit.
// vs 03   acc is an array. `strip` is 03 with four rows a thread. The stage has 8x8 elements a
//         thread and tiles of 128x128x8, and is otherwise as plain as 02: no tile is transposed.
//         256 threads, numbered in one dimension: copies and FMAs divide them differently.
//         `one_block` has half its occupancy.
// Limit   one float at a time: for 64 FMAs a warp executes 10 loads from shared memory (16 before
//         those of A are merged) and 34 other instructions, most around the copies. Next: 04b.
#include "launch.cuh"
#include "parts/vector_access.cuh"

namespace ladder::register_blocked {

constexpr int THREADS = 256;

// The bridge: the layout of 03, but a thread computes four rows of its column. A float4 of B then
// feeds 16 FMAs instead of four; those of A are broadcasts.
namespace strip {
constexpr int BM = 32, BN = 32, BK = 32, TM = 4;

static __global__ void __launch_bounds__(THREADS)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  __shared__ __align__(16) float sA[BM][BK], sB[BN][BK + 4];
  const int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;

  const int a_m = threadIdx.x / 8, a_k = threadIdx.x % 8 * 4, b_k = ty * 4;
  const bool a_row_exists = row0 + a_m < M, b_column_exists = col0 + tx < N;
  const float* a = &A[(row0 + a_m) * lda + a_k];
  const float* b = &B[b_k * ldb + col0 + tx];

  float acc[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    as_float4(sA[a_m][a_k]) = load4(a + k0, a_row_exists ? K - k0 - a_k : 0);
    float quad[4];
    for (int i = 0; i < 4; ++i)
      quad[i] = b_column_exists && k0 + b_k + i < K ? b[(k0 + i) * ldb] : 0.0f;
    as_float4(sB[tx][b_k]) = make_float4(quad[0], quad[1], quad[2], quad[3]);
    __syncthreads();

    for (int k = 0; k < BK; k += 4) {
      const float4 rB = as_float4(sB[tx][k]);
      for (int i = 0; i < TM; ++i) {
        const float4 rA = as_float4(sA[ty + i * 8][k]);
        acc[i] += rA.x * rB.x;
        acc[i] += rA.y * rB.y;
        acc[i] += rA.z * rB.z;
        acc[i] += rA.w * rB.w;
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    const int row = row0 + ty + i * 8, col = col0 + tx;
    if (row < M && col < N) C[row * ldc + col] = acc[i];
  }
}
}  // namespace strip

// The stage. The elements of a thread are 16 apart, so that neighbouring lanes read neighbouring
// words.
constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;

// Two blocks a multiprocessor, so that one multiplies while the other copies. That takes 128
// registers a thread at most; without the bound (`one_block`) ptxas takes 130.
template <int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  __shared__ float sA[BM][BK], sB[BK][BN];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;

  float acc[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
      const int m = i / BK, k = i % BK;
      const bool inside = row0 + m < M && k0 + k < K;
      sA[m][k] = inside ? A[(row0 + m) * lda + k0 + k] : 0.0f;
    }
    for (int i = threadIdx.x; i < BK * BN; i += THREADS) {
      const int k = i / BN, n = i % BN;
      const bool inside = k0 + k < K && col0 + n < N;
      sB[k][n] = inside ? B[(k0 + k) * ldb + col0 + n] : 0.0f;
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      for (int j = 0; j < TN; ++j) rB[j] = sB[k][tx + j * 16];
      for (int i = 0; i < TM; ++i) rA[i] = sA[ty + i * 16][k];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += rA[i] * rB[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      const int row = row0 + ty + i * 16, col = col0 + tx + j * 16;
      if (row < M && col < N) C[row * ldc + col] = acc[i][j];
    }
}

template <auto KERNEL, int BM, int BN>
void launch_tiles(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(KERNEL, grid_2d(p.M, p.N, BM, BN), dim3(THREADS), 0, p.stream, p.M, p.N, p.K, p.A, p.lda,
         p.B, p.ldb, p.C, p.ldc);
}
inline void gemm_strip(const Gemm<float, float>& p) {
  launch_tiles<strip::gemm_kernel, strip::BM, strip::BN>(p);
}
inline void gemm_one_block(const Gemm<float, float>& p) {
  launch_tiles<gemm_kernel<1>, BM, BN>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<gemm_kernel<2>, BM, BN>(p);
}

}  // namespace ladder::register_blocked
