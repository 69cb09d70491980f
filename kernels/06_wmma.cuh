#pragma once
// 06 wmma: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    tensor cores: a warp multiplies 16x16 by 16x16 as one operation on fragments that are
//         spread over its lanes.
// vs 05   half inputs; a warp's part of C is 4x4 fragments instead of 16x8 numbers a thread; both
//         tiles keep the layout of global memory, because load_matrix_sync reads either order.
// Limit   a fragment load is conflict-free only with padded rows, and padding moves every other row
//         off the 32-byte sectors. Next: 07 swizzles instead.
#include <mma.h>

#include "common.cuh"
#include "ptx/cp_async.cuh"

namespace wmma {

using nvcuda::wmma::accumulator;
using nvcuda::wmma::fill_fragment;
using nvcuda::wmma::fragment;
using nvcuda::wmma::load_matrix_sync;
using nvcuda::wmma::matrix_a;
using nvcuda::wmma::matrix_b;
using nvcuda::wmma::mem_row_major;
using nvcuda::wmma::mma_sync;
using nvcuda::wmma::row_major;
using nvcuda::wmma::store_matrix_sync;

constexpr int THREADS = 256;
constexpr int MMA = 16;  // M, N and K of one fragment operation
constexpr int GROUP = 8;

using FragmentA = fragment<matrix_a, MMA, MMA, MMA, half, row_major>;
using FragmentB = fragment<matrix_b, MMA, MMA, MMA, half, row_major>;
using FragmentC = fragment<accumulator, MMA, MMA, MMA, float>;

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

// Rounds eight consecutive floats to half and stores the first `valid`.
__device__ __forceinline__ void store8(half* p, const float* v, int valid) {
  const float4 a = reinterpret_cast<const float4*>(v)[0], b = reinterpret_cast<const float4*>(v)[1];
  __align__(16) const half h[8] = {__float2half(a.x), __float2half(a.y), __float2half(a.z),
                                   __float2half(a.w), __float2half(b.x), __float2half(b.y),
                                   __float2half(b.z), __float2half(b.w)};
  if (valid >= 8) {
    *reinterpret_cast<uint4*>(p) = *reinterpret_cast<const uint4*>(h);
  } else {
    for (int i = 0; i < 7; ++i)
      if (i < valid) p[i] = h[i];
  }
}

// One row of fragments to C. The layout of an accumulator is not specified, so it takes the way
// through shared memory, where it has rows again: WIDTH floats each, `pitch` apart. One warp.
template <int WIDTH>
__device__ __forceinline__ void store_rows(float* staged, int pitch,
                                           const FragmentC (&acc)[WIDTH / MMA], half* C,
                                           int64_t ldc, int row0, int col0, int M, int N) {
  for (int j = 0; j < WIDTH / MMA; ++j)
    store_matrix_sync(staged + j * MMA, acc[j], pitch, mem_row_major);
  __syncwarp();  // the whole strip is written before any lane reads it
  for (int i = threadIdx.x % 32; i < MMA * WIDTH / 8; i += 32) {
    const int r = i / (WIDTH / 8), c = i % (WIDTH / 8) * 8;
    if (row0 + r < M) store8(&C[(row0 + r) * ldc + col0 + c], &staged[r * pitch + c], N - col0 - c);
  }
  __syncwarp();  // and read before the next one overwrites it
}

// First step: fragments straight from global memory, every warp on its own. A fragment that
// reaches past an edge is first copied to shared memory and filled up with zeros.
namespace global {
constexpr int BM = 128, BN = 64, WM = 32, WN = 32;
constexpr int WARPS_N = BN / WN;
constexpr int PITCH = WN + 4;

template <class Fragment>
__device__ __forceinline__ void load_fragment(Fragment& f, const half* p, int64_t ld, int rows,
                                              int cols, half* scratch) {
  if (rows >= MMA && cols >= MMA) {
    load_matrix_sync(f, p, static_cast<unsigned>(ld));
    return;
  }
  for (int i = threadIdx.x % 32; i < MMA * MMA; i += 32) {
    const int r = i / MMA, c = i % MMA;
    scratch[i] = r < rows && c < cols ? p[r * ld + c] : __float2half(0.0f);
  }
  __syncwarp();
  load_matrix_sync(f, scratch, MMA);
  __syncwarp();  // the scratch is free again
}

__global__ void __launch_bounds__(THREADS)
    gemm_kernel(int M, int N, int K, const half* A, int64_t lda, const half* B, int64_t ldb,
                half* C, int64_t ldc) {
  __shared__ __align__(32) half scratch[THREADS / 32][MMA * MMA];
  __shared__ __align__(32) float staged[THREADS / 32][MMA * PITCH];
  const Tile tile = tile_of_block(M, N, BM, BN);
  const int warp = threadIdx.x / 32;
  const int m0 = tile.m0 + warp / WARPS_N * WM, n0 = tile.n0 + warp % WARPS_N * WN;

  FragmentC acc[WM / MMA][WN / MMA];
  for (auto& row : acc)
    for (auto& f : row) fill_fragment(f, 0.0f);

  for (int k0 = 0; k0 < K; k0 += MMA) {
    FragmentA rA[WM / MMA];
    FragmentB rB[WN / MMA];
    for (int i = 0; i < WM / MMA; ++i) {
      const int row = m0 + i * MMA;
      load_fragment(rA[i], &A[row * lda + k0], lda, M - row, K - k0, scratch[warp]);
    }
    for (int j = 0; j < WN / MMA; ++j) {
      const int col = n0 + j * MMA;
      load_fragment(rB[j], &B[k0 * ldb + col], ldb, K - k0, N - col, scratch[warp]);
    }
    for (int i = 0; i < WM / MMA; ++i)
      for (int j = 0; j < WN / MMA; ++j) mma_sync(acc[i][j], rA[i], rB[j], acc[i][j]);
  }

  for (int i = 0; i < WM / MMA; ++i)
    store_rows<WN>(staged[warp], PITCH, acc[i], C, ldc, m0 + i * MMA, n0, M, N);
}
}  // namespace global

// The stage: the pipeline of 05 around fragments.
constexpr int BM = 256, BN = 128, BK = 32, WM = 64, WN = 64;
constexpr int PIPE = 3;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

// Padding by 8 halves, not 1: rows have to stay 16-byte aligned. A pitch that is an odd multiple of
// 16 bytes (80 and 272) puts the eight rows that are read together into eight different groups of
// four banks.
struct Tiles {
  half A[PIPE][BM][BK + 8];
  half B[PIPE][BK][BN + 8];
};
union Shared {
  Tiles tiles;
  float staged[THREADS / 32][MMA * (WN + 4)];  // for the epilogue, when the tiles are done with
};

__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const half* A, int64_t lda, const half* B, int64_t ldb,
                half* C, int64_t ldc) {
  Shared& shared = dynamic_shared<Shared>();
  Tiles& s = shared.tiles;
  const Tile tile = tile_of_block(M, N, BM, BN);
  const int warp = threadIdx.x / 32;
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;

  // Eight halves a copy: four threads a row of A, sixteen a row of B.
  constexpr int A_STEP = THREADS / (BK / 8), B_STEP = THREADS / (BN / 8);
  const int a_m = threadIdx.x / (BK / 8), a_k = threadIdx.x % (BK / 8) * 8;
  const int b_k = threadIdx.x / (BN / 8), b_n = threadIdx.x % (BN / 8) * 8;
  // Rows past M repeat the last one: what comes of them is not stored.
  const half* a_rows[BM / A_STEP];
  for (int i = 0; i < BM / A_STEP; ++i)
    a_rows[i] = &A[min(tile.m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const half* b_row = &B[b_k * ldb + tile.n0 + b_n];
  const int b_bytes = max(0, min(8, N - tile.n0 - b_n)) * 2;

  // The tile to copy next: its first k and its buffer. Past K, zeros are filled in.
  int copy_k0 = 0, copy_buffer = 0;
  const auto copy_tile = [&] {
    const int a_bytes = max(0, min(8, K - copy_k0 - a_k)) * 2;
    for (int i = 0; i < BM / A_STEP; ++i)
      ptx::cp_async_cg_16(&s.A[copy_buffer][a_m + i * A_STEP][a_k], a_rows[i] + copy_k0, a_bytes);
    for (int i = 0; i < BK / B_STEP; ++i)
      ptx::cp_async_cg_16(&s.B[copy_buffer][b_k + i * B_STEP][b_n], b_row + i * B_STEP * ldb,
                          copy_k0 + b_k + i * B_STEP < K ? b_bytes : 0);
    ptx::cp_async_commit_group();
    copy_k0 += BK;
    copy_buffer = copy_buffer == PIPE - 1 ? 0 : copy_buffer + 1;
    b_row += BK * ldb;
  };

  FragmentA rA[2][WM / MMA];
  FragmentB rB[2][WN / MMA];
  const auto load_fragments = [&](int to, int buffer, int k) {
    for (int i = 0; i < WM / MMA; ++i)
      load_matrix_sync(rA[to][i], &s.A[buffer][warp_m + i * MMA][k], BK + 8);
    for (int j = 0; j < WN / MMA; ++j)
      load_matrix_sync(rB[to][j], &s.B[buffer][k][warp_n + j * MMA], BN + 8);
  };

  for (int t = 0; t < PIPE - 1; ++t) copy_tile();
  ptx::cp_async_wait_group<PIPE - 2>();
  __syncthreads();
  load_fragments(0, 0, 0);

  FragmentC acc[WM / MMA][WN / MMA];
  for (auto& row : acc)
    for (auto& f : row) fill_fragment(f, 0.0f);
  int buffer = 0;
#pragma unroll 1
  for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
    for (int k = 0; k < BK; k += MMA) {
      if (k == BK - MMA) {
        // The next tile is complete once every thread has waited for its own copies. Passing the
        // barrier also means that everyone is done with this tile, whose buffer is filled next.
        ptx::cp_async_wait_group<PIPE - 2>();
        __syncthreads();
        buffer = buffer == PIPE - 1 ? 0 : buffer + 1;
      }
      load_fragments((k / MMA + 1) % 2, buffer, (k + MMA) % BK);
      if (k == 0) copy_tile();

      for (int i = 0; i < WM / MMA; ++i)
        for (int j = 0; j < WN / MMA; ++j)
          mma_sync(acc[i][j], rA[k / MMA % 2][i], rB[k / MMA % 2][j], acc[i][j]);
    }
  }

  ptx::cp_async_wait_group<0>();
  __syncthreads();  // the staging area overlays the tiles: no copy, no reader may be left
  for (int i = 0; i < WM / MMA; ++i)
    store_rows<WN>(shared.staged[warp], WN + 4, acc[i], C, ldc, tile.m0 + warp_m + i * MMA,
                   tile.n0 + warp_n, M, N);
}

inline void gemm_global(const Gemm<half, half>& p) {
  require_valid(p);
  require_aligned_rows(p);
  // load_matrix_sync wants 32 bytes; in shared memory the stage provides that itself.
  require_multiple("the address of A", reinterpret_cast<uintptr_t>(p.A), 32);
  require_multiple("the address of B", reinterpret_cast<uintptr_t>(p.B), 32);
  if (p.M == 0 || p.N == 0) return;
  launch(global::gemm_kernel, dim3(ceil_div(p.M, global::BM) * ceil_div(p.N, global::BN)),
         dim3(THREADS), 0, p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}

inline void gemm(const Gemm<half, half>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS), sizeof(Shared),
         p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}

}  // namespace wmma
