#pragma once
// 06 wmma: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    tensor cores: a warp multiplies 16x16 by 16x16 as one operation on fragments that are
//         spread over its lanes.
// vs 05   half inputs; a warp's part of C is 4x4 fragments instead of 16x8 numbers a thread; both
//         tiles keep the layout of global memory, because load_matrix_sync reads either order; one
//         full barrier a tile.
// Limit   a fragment load is conflict-free only with padded rows, and padding moves every other row
//         off the 32-byte sectors. Next: 07 swizzles instead.
#include <mma.h>

#include "launch.cuh"
#include "ptx/cp_async.cuh"

namespace ladder::wmma {

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

// The stage: the pipeline of 05 around fragments, with one barrier a tile: a warp has 16 operations
// of a tensor core for each fragment step to hide behind. A tile is 64 deep where the device has
// the shared memory for three of them (163 KB), else 32.
constexpr int BM = 256, BN = 128, WM = 64, WN = 64;
constexpr int PIPE = 3;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

// Padding by 8 halves, not 1: rows have to stay 16-byte aligned. A pitch that is an odd multiple of
// 16 bytes (80 or 144, and 272) puts the eight rows that are read together into eight different
// groups of four banks. With PAD = 0 they share one or two groups.
template <int BK, int PAD>
union Shared {
  struct Tiles {
    half A[BM][BK + PAD];
    half B[BK][BN + PAD];
  } tiles[PIPE];
  float staged[THREADS / 32][MMA * (WN + 4)];  // for the epilogue, when the tiles are done with
};

// Buffers are addressed in bytes, as in 05.
__device__ __forceinline__ half* plus_bytes(half* p, unsigned bytes) {
  return reinterpret_cast<half*>(reinterpret_cast<char*>(p) + bytes);
}

template <int BK, int PAD>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const half* A, int64_t lda, const half* B, int64_t ldb,
                half* C, int64_t ldc) {
  constexpr int LDA = BK + PAD, LDB = BN + PAD;
  constexpr unsigned TILE_BYTES = sizeof(typename Shared<BK, PAD>::Tiles);
  Shared<BK, PAD>& s = dynamic_shared<Shared<BK, PAD>>();
  const Tile tile = tile_of_block(M, N, BM, BN);
  const int warp = threadIdx.x / 32;
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;

  // Eight halves a copy. Rows past M and columns past N repeat valid ones: what comes of them is
  // not stored.
  constexpr int A_STEP = THREADS / (BK / 8), A_COPIES = BM / A_STEP;
  constexpr int B_STEP = THREADS / (BN / 8), B_COPIES = BK / B_STEP;
  const int a_m = threadIdx.x / (BK / 8), a_k = threadIdx.x % (BK / 8) * 8;
  const int b_k = threadIdx.x / (BN / 8), b_n = threadIdx.x % (BN / 8) * 8;
  const int b_valid = max(0, min(8, N - tile.n0 - b_n));
  half* const a_to = &s.tiles[0].A[a_m][a_k];
  half* const b_to = &s.tiles[0].B[b_k][b_n];
  const half* a_from[A_COPIES];
  for (int i = 0; i < A_COPIES; ++i)
    a_from[i] = &A[min(tile.m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const half* b_from = &B[b_k * ldb + (b_valid > 0 ? tile.n0 + b_n : 0)];

  // The last tile along K, which K may cut, is multiplied first: the others are copied unchecked.
  const int tiles = ceil_div(K, BK), last_k0 = max(0, (tiles - 1) * BK);
  const int a_valid = max(0, min(8, K - last_k0 - a_k));
  for (int i = 0; i < A_COPIES; ++i)
    ptx::cp_async_cg_16(a_to + i * A_STEP * LDA, a_from[i] + last_k0, a_valid * 2);
  for (int i = 0; i < B_COPIES; ++i) {
    const int k = last_k0 + i * B_STEP;
    ptx::cp_async_cg_16(b_to + i * B_STEP * LDB, b_from + k * ldb, k + b_k < K ? b_valid * 2 : 0);
  }
  ptx::cp_async_commit_group();

  // The other copies go round the buffers, a tile in `parts`. Past the last tile, zeros are filled
  // in.
  int copy_k0 = 0;
  unsigned copy_buffer = TILE_BYTES;
  const auto copy = [&](int part, int parts, bool exists) {
    for (int i = part; i < A_COPIES; i += parts)
      ptx::cp_async_cg_16_ignore_src(plus_bytes(a_to, copy_buffer) + i * A_STEP * LDA,
                                     a_from[i] + copy_k0, !exists);
    for (int i = part; i < B_COPIES; i += parts)
      ptx::cp_async_cg_16_ignore_src(plus_bytes(b_to, copy_buffer) + i * B_STEP * LDB,
                                     b_from + i * B_STEP * ldb, !exists);
    if (part < parts - 1) return;
    ptx::cp_async_commit_group();
    copy_k0 += BK;
    b_from += BK * ldb;
    copy_buffer = (copy_buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
  };
  for (int t = 1; t < PIPE - 1; ++t) copy(0, 1, t < tiles);

  half* const a_fragment = &s.tiles[0].A[warp_m][0];
  half* const b_fragment = &s.tiles[0].B[0][warp_n];
  FragmentA rA[2][WM / MMA];
  FragmentB rB[2][WN / MMA];
  const auto load_fragments = [&](int to, unsigned buffer, int k) {
    for (int i = 0; i < WM / MMA; ++i)
      load_matrix_sync(rA[to][i], plus_bytes(a_fragment, buffer) + i * MMA * LDA + k, LDA);
    for (int j = 0; j < WN / MMA; ++j)
      load_matrix_sync(rB[to][j], plus_bytes(b_fragment, buffer) + k * LDB + j * MMA, LDB);
  };
  ptx::cp_async_wait_group<PIPE - 2>();
  __syncthreads();
  load_fragments(0, 0, 0);

  FragmentC acc[WM / MMA][WN / MMA];
  for (auto& row : acc)
    for (auto& f : row) fill_fragment(f, 0.0f);
  constexpr int STEPS = BK / MMA;
  unsigned buffer = 0;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      if (k == STEPS - 1) {
        // The next tile is complete once every thread has waited for its own copies. Passing the
        // barrier also means that everyone is done with this tile, whose buffer is filled next.
        ptx::cp_async_wait_group<PIPE - 2>();
        __syncthreads();
        buffer = (buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
      }
      load_fragments((k + 1) % 2, buffer, (k + 1) % STEPS * MMA);
      if (k < STEPS - 1) copy(k, STEPS - 1, t + PIPE - 1 < tiles);

      for (int i = 0; i < WM / MMA; ++i)
        for (int j = 0; j < WN / MMA; ++j)
          mma_sync(acc[i][j], rA[k % 2][i], rB[k % 2][j], acc[i][j]);
    }
  }

  ptx::cp_async_wait_group<0>();
  __syncthreads();  // the staging area overlays the tiles: no copy, no reader may be left
  for (int i = 0; i < WM / MMA; ++i)
    store_rows<WN>(s.staged[warp], WN + 4, acc[i], C, ldc, tile.m0 + warp_m + i * MMA,
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

template <int BK, int PAD>
void gemm_depth(const Gemm<half, half>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel<BK, PAD>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS),
         sizeof(Shared<BK, PAD>), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}

inline void gemm_unpadded(const Gemm<half, half>& p) {
  gemm_depth<32, 0>(p);
}
inline void gemm_shallow(const Gemm<half, half>& p) {
  gemm_depth<32, 8>(p);
}
inline void gemm(const Gemm<half, half>& p) {
  const int available = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (sizeof(Shared<64, 8>) <= static_cast<size_t>(available))
    gemm_depth<64, 8>(p);
  else
    gemm_depth<32, 8>(p);
}

}  // namespace ladder::wmma
