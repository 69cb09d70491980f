#pragma once
// 01 naive: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    one thread computes one element of C: a row of A times a column of B.
// Limit   two global loads for each FMA. B's are coalesced (neighbouring lanes, neighbouring
//         columns) and A's are broadcasts, but each element of A and B is fetched from the caches
//         again by every thread that needs it. Next: 02 fetches it once a block.
#include "launch.cuh"

namespace ladder::naive {

constexpr int BM = 32, BN = 32;

// The counterexample: neighbouring lanes take neighbouring rows. A warp then reads 32 rows of A and
// writes 32 rows of C at once, each in a 32-byte sector of its own, of which it uses 4 bytes.
static __global__ void gemm_uncoalesced_kernel(int M, int N, int K, const float* A, int64_t lda,
                                               const float* B, int64_t ldb, float* C, int64_t ldc) {
  const int row = blockIdx.y * BM + threadIdx.x;
  const int col = blockIdx.x * BN + threadIdx.y;
  if (row >= M || col >= N) return;

  float acc = 0.0f;
  for (int k = 0; k < K; ++k) acc += A[row * lda + k] * B[k * ldb + col];
  C[row * ldc + col] = acc;
}

// The stage: only the two thread indices are swapped.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B,
                                   int64_t ldb, float* C, int64_t ldc) {
  const int row = blockIdx.y * BM + threadIdx.y;
  const int col = blockIdx.x * BN + threadIdx.x;
  if (row >= M || col >= N) return;

  float acc = 0.0f;
  for (int k = 0; k < K; ++k) acc += A[row * lda + k] * B[k * ldb + col];
  C[row * ldc + col] = acc;
}

inline void gemm_uncoalesced(const Gemm<float, float>& p) {
  require_valid(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_uncoalesced_kernel, grid_2d(p.M, p.N, BM, BN), dim3(BM, BN), 0, p.stream, p.M, p.N,
         p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}

inline void gemm(const Gemm<float, float>& p) {
  require_valid(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel, grid_2d(p.M, p.N, BM, BN), dim3(BN, BM), 0, p.stream, p.M, p.N, p.K, p.A,
         p.lda, p.B, p.ldb, p.C, p.ldc);
}

}  // namespace ladder::naive
