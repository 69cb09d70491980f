#pragma once
// 02 smem_tiled: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    a block copies BMxBK of A and BKxBN of B to shared memory once, and every thread reads
//         them from there: each element is fetched from global memory by M/BM or N/BN blocks
//         instead of by M or N threads.
// vs 01   + sA, sB, the k0 loop, two barriers. The thread -> C mapping is unchanged.
// Limit   two shared loads for each FMA: the shared-memory pipe is full. Next: 03 asks whether
//         another layout helps.
#include "launch.cuh"

namespace ladder::smem_tiled {

constexpr int BM = 32, BN = 32, BK = 32;

static __global__ void gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B,
                                   int64_t ldb, float* C, int64_t ldc) {
  __shared__ float sA[BM][BK], sB[BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * BM + ty;
  const int col = blockIdx.x * BN + tx;

  const float* a = &A[row * lda + tx];  // what this thread copies of the first tiles
  const float* b = &B[ty * ldb + col];
  const int a_end = row < M ? K : 0, b_end = col < N ? K : 0;  // and how far in k there is anything

  float acc = 0.0f;
  for (int k0 = 0; k0 < K; k0 += BK) {
    // Zeros outside the matrices add nothing, so the compute loop needs no bounds.
    sB[ty][tx] = k0 + ty < b_end ? b[k0 * ldb] : 0.0f;
    sA[ty][tx] = k0 + tx < a_end ? a[k0] : 0.0f;
    __syncthreads();  // the tiles are complete before anyone reads them

    for (int k = 0; k < BK; ++k) acc += sA[ty][k] * sB[k][tx];
    __syncthreads();  // everyone has read them before anyone overwrites them
  }

  if (row < M && col < N) C[row * ldc + col] = acc;
}

inline void gemm(const Gemm<float, float>& p) {
  require_valid(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel, grid_2d(p.M, p.N, BM, BN), dim3(BN, BM), 0, p.stream, p.M, p.N, p.K, p.A,
         p.lda, p.B, p.ldb, p.C, p.ldc);
}

}  // namespace ladder::smem_tiled
