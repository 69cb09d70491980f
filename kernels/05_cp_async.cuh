#pragma once
// 05 cp_async: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    copy the tiles asynchronously, PIPE - 1 of them ahead, while the FMAs run on the current
//         one. cp.async writes straight to shared memory: no registers hold what is in flight.
// vs 04   PIPE buffers instead of one; a copy started three tiles ahead; one barrier a tile instead
//         of two; operands for the next k are read while this one is multiplied. The tile, the
//         warp's part of it and the FMAs are unchanged.
// Limit   the FMA pipe itself: all other instructions of the loop take issue slots from FFMAs.
#include "common.cuh"
#include "ptx/cp_async.cuh"

namespace cp_async {

constexpr int THREADS = 256;
constexpr int BM = 256, BN = 128, BK = 8, WM = 64, WN = 64, TM = 16, TN = 8;
constexpr int PIPE = 4;
constexpr int GROUP = 8;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

// A is stored transposed; rows of 260 keep the quads aligned and the copies free of conflicts.
struct Shared {
  float A[PIPE][BK][BM + 4];
  float B[PIPE][BK][BN];
};

__device__ __forceinline__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
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

struct Tile {
  int m0, n0;
};
__device__ __forceinline__ Tile tile_of_block(int M, int N) {
  const int tiles_m = ceil_div(M, BM), tiles_n = ceil_div(N, BN);
  const int first_m = blockIdx.x / (GROUP * tiles_n) * GROUP;
  const int height = min(GROUP, tiles_m - first_m);
  const int rest = blockIdx.x % (GROUP * tiles_n);
  return {(first_m + rest % height) * BM, rest / height * BN};
}

__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  Shared& s = dynamic_shared<Shared>();
  const Tile tile = tile_of_block(M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;
  const int m = warp_m + lane / 2 % 4 * 4, n = warp_n + (lane / 8 * 2 + lane % 2) * 4;

  // A thread copies eight single elements of A, 32 rows apart (four bytes each, because they are
  // transposed on the way), and four consecutive elements of B.
  constexpr int A_COPIES = BM * BK / THREADS, A_STEP = THREADS / BK;
  const int a_m = threadIdx.x / BK, a_k = threadIdx.x % BK;
  const int b_k = threadIdx.x / 32, b_n = threadIdx.x % 32 * 4;
  // Rows past M repeat the last one: what comes of them is not stored.
  const float* a_rows[A_COPIES];
  for (int i = 0; i < A_COPIES; ++i)
    a_rows[i] = &A[min(tile.m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const float* b_row = &B[b_k * ldb + tile.n0 + b_n];
  const int b_bytes = max(0, min(4, N - tile.n0 - b_n)) * 4;

  // The tile to copy next: its first k and its buffer. Past K, zeros are filled in.
  int copy_k0 = 0, copy_buffer = 0;
  const auto copy = [&](int i) {
    if (i < A_COPIES)
      ptx::cp_async_ca_4(&s.A[copy_buffer][a_k][a_m + i * A_STEP], a_rows[i] + copy_k0,
                         copy_k0 + a_k < K ? 4 : 0);
    else
      ptx::cp_async_cg_16(&s.B[copy_buffer][b_k][b_n], b_row, copy_k0 + b_k < K ? b_bytes : 0);
  };
  const auto next_copy = [&] {
    ptx::cp_async_commit_group();
    copy_k0 += BK;
    copy_buffer = (copy_buffer + 1) % PIPE;
    b_row += BK * ldb;
  };

  float rA[2][TM], rB[2][TN];
  const auto load_fragments = [&](int to, int buffer, int k) {
    for (int i = 0; i < TM; i += 4) as_float4(rA[to][i]) = as_float4(s.A[buffer][k][m + i * 4]);
    for (int j = 0; j < TN; j += 4) as_float4(rB[to][j]) = as_float4(s.B[buffer][k][n + j * 8]);
  };

  for (int t = 0; t < PIPE - 1; ++t) {
    for (int i = 0; i <= A_COPIES; ++i) copy(i);
    next_copy();
  }
  ptx::cp_async_wait_group<PIPE - 2>();
  __syncthreads();
  load_fragments(0, 0, 0);

  float acc[TM][TN] = {};
  int buffer = 0;
#pragma unroll 1
  for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == BK - 1) {
        // The next tile is complete once every thread has waited for its own copies. Passing the
        // barrier also means that everyone is done with this tile, whose buffer is filled next.
        ptx::cp_async_wait_group<PIPE - 2>();
        __syncthreads();
        buffer = (buffer + 1) % PIPE;
      }
      load_fragments((k + 1) % 2, buffer, (k + 1) % BK);

      // Spread the copies over the k steps instead of issuing them in one burst.
      if (k < BK - 1)
        for (int i = k; i <= A_COPIES; i += BK - 1) copy(i);
      if (k == BK - 2) next_copy();

      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += rA[k % 2][i] * rB[k % 2][j];
    }
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

inline void gemm(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS), sizeof(Shared),
         p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}

}  // namespace cp_async
