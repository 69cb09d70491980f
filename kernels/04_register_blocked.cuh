#pragma once
// 04 register_blocked: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    a thread computes TMxTN elements of C: TM + TN operands from shared memory feed TM * TN
//         FMAs, so the shared-memory pipe is no longer the limit.
// vs 03   acc becomes an array; A's tile is transposed instead of B's, so that a thread's operands
//         are consecutive in m and n; blocks are numbered in one dimension.
// Limit   between two tiles every thread stores to shared memory and waits, twice, for all others;
//         what is on its way occupies registers. Next: 05.
#include "common.cuh"

namespace register_blocked {

constexpr int THREADS = 256;
constexpr int BK = 8;
constexpr int GROUP = 8;

__device__ __forceinline__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ __forceinline__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// Four elements from p, of which the first `valid` exist and the others are 0.
__device__ __forceinline__ float4 load4(const float* p, int valid) {
  if (valid >= 4) return as_float4(*p);
  return make_float4(valid > 0 ? p[0] : 0.0f, valid > 1 ? p[1] : 0.0f, valid > 2 ? p[2] : 0.0f,
                     0.0f);
}

// The first `valid` of four consecutive elements of C.
__device__ __forceinline__ void store4(float* p, const float (&v)[4], int valid) {
  if (valid >= 4) {
    as_float4(*p) = make_float4(v[0], v[1], v[2], v[3]);
  } else {
    for (int i = 0; i < 3; ++i)
      if (i < valid) p[i] = v[i];
  }
}

// Blocks that run at the same time should share rows of A and columns of B in L2: number them down
// the columns of a band that is GROUP tiles high, then the next band.
struct Tile {
  int m0, n0;
};
__device__ __forceinline__ Tile tile_of_block(int M, int N, int BM, int BN) {
  const int tiles_m = ceil_div(M, BM), tiles_n = ceil_div(N, BN);
  const int first_m = blockIdx.x / (GROUP * tiles_n) * GROUP;
  const int height = min(GROUP, tiles_m - first_m);
  const int rest = blockIdx.x % (GROUP * tiles_n);
  return {(first_m + rest % height) * BM, rest / height * BN};
}

// First step: 8x8 elements a thread, everything else as plain as in 02. The elements of a thread
// are 16 apart, so that neighbouring lanes read neighbouring words.
namespace scalar {
constexpr int BM = 128, BN = 128, TM = 8, TN = 8;

__global__ void __launch_bounds__(THREADS)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  __shared__ float sA[BM][BK], sB[BK][BN];
  const Tile tile = tile_of_block(M, N, BM, BN);
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;

  float acc[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
      const int m = i / BK, k = i % BK;
      const bool inside = tile.m0 + m < M && k0 + k < K;
      sA[m][k] = inside ? A[(tile.m0 + m) * lda + k0 + k] : 0.0f;
    }
    for (int i = threadIdx.x; i < BK * BN; i += THREADS) {
      const int k = i / BN, n = i % BN;
      const bool inside = k0 + k < K && tile.n0 + n < N;
      sB[k][n] = inside ? B[(k0 + k) * ldb + tile.n0 + n] : 0.0f;
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      for (int i = 0; i < TM; ++i) rA[i] = sA[ty + i * 16][k];
      for (int j = 0; j < TN; ++j) rB[j] = sB[k][tx + j * 16];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += rA[i] * rB[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      const int row = tile.m0 + ty + i * 16, col = tile.n0 + tx + j * 16;
      if (row < M && col < N) C[row * ldc + col] = acc[i][j];
    }
}
}  // namespace scalar

// Second step: the same tile, moved 16 bytes at a time. A is transposed on its way to shared
// memory; a thread owns 2x2 squares of 4x4 elements, 64 apart.
namespace vectorized {
constexpr int BM = 128, BN = 128, TM = 8, TN = 8;

__global__ void __launch_bounds__(THREADS)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  // Rows of 132: a warp's transposing stores cover 16 rows of A and two quads of k. The quads are
  // 4 * 132 floats apart, which is 16 banks, so that the 32 lanes hit 32 banks.
  __shared__ __align__(16) float sA[BK][BM + 4], sB[BK][BN];
  const Tile tile = tile_of_block(M, N, BM, BN);
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;

  const int a_m = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
  const int b_k = threadIdx.x / 32, b_n = threadIdx.x % 32 * 4;
  const bool a_row_exists = tile.m0 + a_m < M;

  float acc[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    const float4 a = load4(&A[(tile.m0 + a_m) * lda + k0 + a_k], a_row_exists ? K - k0 - a_k : 0);
    sA[a_k + 0][a_m] = a.x;
    sA[a_k + 1][a_m] = a.y;
    sA[a_k + 2][a_m] = a.z;
    sA[a_k + 3][a_m] = a.w;
    as_float4(sB[b_k][b_n]) =
        load4(&B[(k0 + b_k) * ldb + tile.n0 + b_n], k0 + b_k < K ? N - tile.n0 - b_n : 0);
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      for (int i = 0; i < TM; i += 4) as_float4(rA[i]) = as_float4(sA[k][ty * 4 + i * 16]);
      for (int j = 0; j < TN; j += 4) as_float4(rB[j]) = as_float4(sB[k][tx * 4 + j * 16]);
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += rA[i] * rB[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    const int row = tile.m0 + ty * 4 + i / 4 * 64 + i % 4;
    for (int j = 0; j < TN; j += 4) {
      const int col = tile.n0 + tx * 4 + j * 16;
      const float quad[4] = {acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]};
      if (row < M) store4(&C[row * ldc + col], quad, N - col);
    }
  }
}
}  // namespace vectorized

// The stage: a larger block, 16x8 elements a thread, and a warp owns a compact WMxWN part of it
// instead of a strip: fewer different addresses in each of its loads. With so many registers a
// thread, one block fills a multiprocessor and no other hides its waiting for global memory: the
// next tile is on its way to registers while this one is multiplied.
constexpr int BM = 256, BN = 128, WM = 64, WN = 64, TM = 16, TN = 8;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  __shared__ __align__(16) float sA[BK][BM + 4], sB[BK][BN];
  const Tile tile = tile_of_block(M, N, BM, BN);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  // 4x8 lanes to a warp tile. Lanes 2i and 2i + 1 read the same quad of A, lanes i and i + 2 the
  // same quad of B: the hardware then serves a 16-byte load in two wavefronts instead of four.
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;
  const int m = warp_m + lane / 2 % 4 * 4, n = warp_n + (lane / 8 * 2 + lane % 2) * 4;

  // A thread copies quads of two rows of A, which lie half a tile apart, and one quad of B.
  const int a_m = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
  const int b_k = threadIdx.x / 32, b_n = threadIdx.x % 32 * 4;
  const int rows_left = M - tile.m0 - a_m, columns_left = N - tile.n0 - b_n;
  const float* a_low = &A[(tile.m0 + a_m) * lda + a_k];
  const float* a_high = a_low + BM / 2 * lda;
  const float* b = &B[b_k * ldb + tile.n0 + b_n];

  float4 next_a_low, next_a_high, next_b;
  const auto fetch = [&](int k0) {
    const int k_left = K - k0 - a_k;
    next_a_low = load4(a_low + k0, rows_left > 0 ? k_left : 0);
    next_a_high = load4(a_high + k0, rows_left > BM / 2 ? k_left : 0);
    next_b = load4(b + k0 * ldb, k0 + b_k < K ? columns_left : 0);
  };
  const auto store_a = [&](int row, float4 a) {
    sA[a_k + 0][row] = a.x;
    sA[a_k + 1][row] = a.y;
    sA[a_k + 2][row] = a.z;
    sA[a_k + 3][row] = a.w;
  };

  float acc[TM][TN] = {};
  fetch(0);
  for (int k0 = 0; k0 < K; k0 += BK) {
    store_a(a_m, next_a_low);
    store_a(a_m + BM / 2, next_a_high);
    as_float4(sB[b_k][b_n]) = next_b;
    __syncthreads();
    fetch(k0 + BK);  // past the last tile nothing is valid and nothing is read

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      for (int i = 0; i < TM; i += 4) as_float4(rA[i]) = as_float4(sA[k][m + i * 4]);
      for (int j = 0; j < TN; j += 4) as_float4(rB[j]) = as_float4(sB[k][n + j * 8]);
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += rA[i] * rB[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    const int row = tile.m0 + m + i / 4 * 16 + i % 4;
    for (int j = 0; j < TN; j += 4) {
      const int col = tile.n0 + n + j * 8;
      const float quad[4] = {acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]};
      if (row < M) store4(&C[row * ldc + col], quad, N - col);
    }
  }
}

template <auto KERNEL, int BM, int BN>
void launch_tiles(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(KERNEL, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS), 0, p.stream, p.M, p.N,
         p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}
inline void gemm_scalar(const Gemm<float, float>& p) {
  launch_tiles<scalar::gemm_kernel, scalar::BM, scalar::BN>(p);
}
inline void gemm_vectorized(const Gemm<float, float>& p) {
  launch_tiles<vectorized::gemm_kernel, vectorized::BM, vectorized::BN>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<gemm_kernel, BM, BN>(p);
}

}  // namespace register_blocked
