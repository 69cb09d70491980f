#pragma once
// 04 register_blocked: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    a thread computes TMxTN elements of C: TM + TN operands from shared memory feed TM * TN
//         FMAs, so the shared-memory pipe is no longer the limit.
// vs 03   acc becomes an array; A's tile is transposed instead of B's, so that a thread's operands
//         are consecutive in m and n; blocks are numbered in one dimension.
// Limit   between two tiles every thread stores to shared memory and waits, twice, for all others.
//         Next: 05.
#include "launch.cuh"

namespace ladder::register_blocked {

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
__device__ __forceinline__ void store4(float* p, float4 v, int valid) {
  if (valid >= 4) {
    as_float4(*p) = v;
  } else {
    if (valid > 0) p[0] = v.x;
    if (valid > 1) p[1] = v.y;
    if (valid > 2) p[2] = v.z;
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

// First step, the bridge: the layout of 03, but a thread computes four rows of its column. A float4
// of B then feeds 16 FMAs instead of four; those of A are broadcasts.
namespace strip {
constexpr int BM = 32, BN = 32, BK = 32, TM = 4;

__global__ void __launch_bounds__(THREADS)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  __shared__ __align__(16) float sA[BM][BK], sB[BN][BK + 4];
  const Tile tile = tile_of_block(M, N, BM, BN);
  const int tx = threadIdx.x % 32, ty = threadIdx.x / 32;

  const int a_m = threadIdx.x / 8, a_k = threadIdx.x % 8 * 4, b_k = ty * 4;
  const bool a_row_exists = tile.m0 + a_m < M, b_column_exists = tile.n0 + tx < N;
  const float* a = &A[(tile.m0 + a_m) * lda + a_k];
  const float* b = &B[b_k * ldb + tile.n0 + tx];

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
    const int row = tile.m0 + ty + i * 8, col = tile.n0 + tx;
    if (row < M && col < N) C[row * ldc + col] = acc[i];
  }
}
}  // namespace strip

// Second step: 8x8 elements a thread, everything else as plain as in 02. The elements of a thread
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

// Third step: the same tile, moved 16 bytes at a time. A is transposed on its way to shared
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
      const float4 quad = make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
      if (row < M) store4(&C[row * ldc + col], quad, N - col);
    }
  }
}
}  // namespace vectorized

// The stage: a larger block, 16x8 elements a thread, and a warp owns a compact WMxWN part of it
// instead of a strip: fewer different addresses in each of its loads. With so many registers a
// thread, one block fills a multiprocessor and no other hides its waiting for global memory: the
// next tile is on its way to registers while this one is multiplied.
//
// BK is 8 because the unrolled loop over a tile is then 18 KB of code, which the instruction cache
// holds (05 has a variant with 16).
//
// BANKS adds what an FFMA needs to run at full rate: its three operands, a[i], b[j] and acc[i][j],
// come from two banks of registers, the even and the odd ones, and each bank delivers one a clock.
//   The order of FFMAs: along a row of acc, a[i] stays where it was read last (the reuse cache of
//   its operand slot), and walking the next row backwards keeps b[j] for the turn as well.
//   Where accumulators live: b[j] has the parity of j, as the float4 load lays it down. The quads
//   of C are stored in the order (1, 0, 3, 2), so ptxas puts acc[i][j] into registers of the other
//   parity, and b[j] and acc[i][j] are read in the same clock.
constexpr int BM = 128, BN = 256, WM = 64, WN = 64, TM = 16, TN = 8;
constexpr int WARPS = THREADS / 32;
static_assert(BM / WM * (BN / WN) == WARPS);

template <bool BANKS>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  __shared__ __align__(16) float sA[BK][BM + 4], sB[BK][BN], sC[WARPS][16][32 + 4];
  const Tile tile = tile_of_block(M, N, BM, BN);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  // 4x8 lanes to a warp tile. Lanes 2i and 2i + 1 read the same quad of A, lanes i and i + 2 the
  // same quad of B: the hardware then serves a 16-byte load in two wavefronts instead of four.
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;
  const int lane_m = lane / 2 % 4 * 4, lane_n = (lane / 8 * 2 + lane % 2) * 4;

  // A thread copies a quad of A and two quads of B, half a tile apart. Rows past M and quads past N
  // repeat valid ones: what comes of them is not stored.
  const int a_m = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
  const int b_k = threadIdx.x / 32, b_n = threadIdx.x % 32 * 4;
  const int left_valid = N - tile.n0 - b_n, right_valid = left_valid - BN / 2;
  const float* a = &A[min(tile.m0 + a_m, M - 1) * lda + a_k];
  const float* b_left = &B[b_k * ldb + (left_valid > 0 ? tile.n0 + b_n : 0)];
  const float* b_right = &B[b_k * ldb + (right_valid > 0 ? tile.n0 + b_n + BN / 2 : 0)];

  // The last tile along K, which K may cut, is multiplied first: the others are loaded unchecked.
  const int tiles = ceil_div(K, BK), last_k0 = max(0, (tiles - 1) * BK);
  const bool b_row_exists = last_k0 + b_k < K;
  float4 next_a = load4(a + last_k0, K - last_k0 - a_k);
  float4 next_left = load4(b_left + last_k0 * ldb, b_row_exists ? left_valid : 0);
  float4 next_right = load4(b_right + last_k0 * ldb, b_row_exists ? right_valid : 0);
  const auto store_next = [&] {
    sA[a_k + 0][a_m] = next_a.x;
    sA[a_k + 1][a_m] = next_a.y;
    sA[a_k + 2][a_m] = next_a.z;
    sA[a_k + 3][a_m] = next_a.w;
    as_float4(sB[b_k][b_n]) = next_left;
    as_float4(sB[b_k][b_n + BN / 2]) = next_right;
  };
  store_next();
  __syncthreads();

  float acc[TM][TN] = {};
#pragma unroll 1
  for (int t = 1; t <= tiles; ++t) {
    if (t < tiles) {
      next_a = as_float4(*a);
      next_left = as_float4(*b_left);
      next_right = as_float4(*b_right);
      a += BK;
      b_left += BK * ldb;
      b_right += BK * ldb;
    }

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      for (int i = 0; i < TM; i += 4) as_float4(rA[i]) = as_float4(sA[k][warp_m + lane_m + i * 4]);
      for (int j = 0; j < TN; j += 4) as_float4(rB[j]) = as_float4(sB[k][warp_n + lane_n + j * 8]);
      for (int i = 0; i < TM; ++i)
        for (int step = 0; step < TN; ++step) {
          const int j = BANKS && i % 2 == 1 ? TN - 1 - step : step;
          acc[i][j] += rA[i] * rB[j];
        }
    }

    __syncthreads();
    store_next();  // after the last tile nobody reads it
    __syncthreads();
  }

  // Through shared memory, 16 rows of 32 elements at a time: written by quads, read by rows, so
  // that a warp stores 128 consecutive bytes of C at once.
#pragma unroll
  for (int i = 0; i < TM; i += 4)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      for (int r = 0; r < 4; ++r) {
        const float(&row)[TN] = acc[i + r];
        as_float4(sC[warp][lane_m + r][lane_n]) =
            BANKS ? make_float4(row[j + 1], row[j], row[j + 3], row[j + 2])
                  : make_float4(row[j], row[j + 1], row[j + 2], row[j + 3]);
      }
      __syncwarp();
      const int row0 = tile.m0 + warp_m + i * 4, col = tile.n0 + warp_n + j * 8 + lane;
      for (int r = 0; r < 16; ++r)
        if (row0 + r < M && col < N)
          C[(row0 + r) * ldc + col] = sC[warp][r][BANKS ? lane ^ 1 : lane];
      __syncwarp();
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
inline void gemm_strip(const Gemm<float, float>& p) {
  launch_tiles<strip::gemm_kernel, strip::BM, strip::BN>(p);
}
inline void gemm_scalar(const Gemm<float, float>& p) {
  launch_tiles<scalar::gemm_kernel, scalar::BM, scalar::BN>(p);
}
inline void gemm_vectorized(const Gemm<float, float>& p) {
  launch_tiles<vectorized::gemm_kernel, vectorized::BM, vectorized::BN>(p);
}
inline void gemm_warp_tiled(const Gemm<float, float>& p) {
  launch_tiles<gemm_kernel<false>, BM, BN>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<gemm_kernel<true>, BM, BN>(p);
}

}  // namespace ladder::register_blocked
