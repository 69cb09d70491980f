#pragma once
// 03 transposed_b: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    store B's tile transposed, sB[n][k], so that a thread's operands are consecutive in k
//         and both can be read and written 16 bytes at a time.
// vs 02   sB is transposed and its rows are padded; loads and stores of shared memory are float4; a
//         tile is twice as deep. The thread -> C mapping is unchanged.
// Limit   fewer shared-memory instructions, but a 16-byte request of a warp is 512 bytes and takes
//         four wavefronts: the pipe moves the same bytes as in 02. Layout cannot help; more FMAs
//         for each byte can. Next: 04.
#include "launch.cuh"

namespace ladder::transposed_b {

constexpr int BM = 32, BN = 32;
constexpr int THREADS = BM * BN;

// The first attempt, one float at a time. In sB[tx][k], neighbouring lanes are a row apart. With
// rows of 32 floats (PAD = 0) all 32 lanes hit the same bank and take turns, on loads and on
// stores; with rows of 33 (PAD = 1) they hit 32 different banks.
template <int PAD>
__global__ void gemm_scalar_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B,
                                   int64_t ldb, float* C, int64_t ldc) {
  constexpr int BK = 32;
  __shared__ float sA[BM][BK], sB[BN][BK + PAD];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * BM + ty;
  const int col = blockIdx.x * BN + tx;
  const float* a = &A[row * lda + tx];
  const float* b = &B[ty * ldb + col];

  float acc = 0.0f;
  for (int k0 = 0; k0 < K; k0 += BK) {
    sB[tx][ty] = k0 + ty < K && col < N ? b[k0 * ldb] : 0.0f;
    sA[ty][tx] = row < M && k0 + tx < K ? a[k0] : 0.0f;
    __syncthreads();

    for (int k = 0; k < BK; ++k) acc += sA[ty][k] * sB[tx][k];
    __syncthreads();
  }

  if (row < M && col < N) C[row * ldc + col] = acc;
}

__device__ __forceinline__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}

// Four elements from p, of which the first `valid` exist and the others are 0.
__device__ __forceinline__ float4 load4(const float* p, int valid) {
  if (valid >= 4) return *reinterpret_cast<const float4*>(p);
  return make_float4(valid > 0 ? p[0] : 0.0f, valid > 1 ? p[1] : 0.0f, valid > 2 ? p[2] : 0.0f,
                     0.0f);
}

// A deeper tile has fewer barriers, and with BK = 64 every warp copies; with 32, half of them wait.
// Two blocks a multiprocessor, as in 02: without the bound the float4 code takes too many registers
// for that.
template <int BK>
__global__ void __launch_bounds__(THREADS, 2)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  // BK + 4, 36 or 68: rows stay 16-byte aligned (BK + 1 would not), and the eight lanes that are
  // served together start in banks 0, 4, 8, ..., 28.
  __shared__ __align__(16) float sA[BM][BK], sB[BN][BK + 4];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
  const int row = row0 + ty, col = col0 + tx;

  // A row of A's tile is QUADS float4. The first QUADS warps copy A, the next QUADS copy B, four
  // elements along k a thread, of which `valid` are inside the matrix.
  constexpr int QUADS = BK / 4;
  const int a_m = (ty * 32 + tx) / QUADS, a_k = tx % QUADS * 4;
  const int b_k = (ty - QUADS) * 4;
  const bool copies_a = ty < QUADS, copies_b = !copies_a && ty < 2 * QUADS;
  const float* from = copies_a ? &A[(row0 + a_m) * lda + a_k] : &B[b_k * ldb + col];
  int valid = copies_a ? (row0 + a_m < M ? K - a_k : 0) : (col < N ? K - b_k : 0);

  float acc = 0.0f;
  for (int k0 = 0; k0 < K; k0 += BK) {
    if (copies_a) {
      as_float4(sA[a_m][a_k]) = load4(from, valid);
      from += BK;
    } else if (copies_b) {
      // Each of the four loads is coalesced along n; together they are one float4 along k.
      float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (valid > 0) v.x = from[0];
      if (valid > 1) v.y = from[ldb];
      if (valid > 2) v.z = from[2 * ldb];
      if (valid > 3) v.w = from[3 * ldb];
      as_float4(sB[tx][b_k]) = v;
      from += BK * ldb;
    }
    valid -= BK;
    __syncthreads();

    for (int k = 0; k < BK; k += 4) {
      const float4 a = as_float4(sA[ty][k]), b = as_float4(sB[tx][k]);
      acc += a.x * b.x;
      acc += a.y * b.y;
      acc += a.z * b.z;
      acc += a.w * b.w;
    }
    __syncthreads();
  }

  if (row < M && col < N) C[row * ldc + col] = acc;
}

template <auto KERNEL>
void launch_tiles(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(KERNEL, grid_2d(p.M, p.N, BM, BN), dim3(BN, BM), 0, p.stream, p.M, p.N, p.K, p.A, p.lda,
         p.B, p.ldb, p.C, p.ldc);
}
inline void gemm_conflicted(const Gemm<float, float>& p) {
  launch_tiles<gemm_scalar_kernel<0>>(p);
}
inline void gemm_padded(const Gemm<float, float>& p) {
  launch_tiles<gemm_scalar_kernel<1>>(p);
}
inline void gemm_shallow(const Gemm<float, float>& p) {
  launch_tiles<gemm_kernel<32>>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<gemm_kernel<64>>(p);
}

}  // namespace ladder::transposed_b
