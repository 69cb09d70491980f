#pragma once
// 06c fragments_ahead: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    read the fragments of the next step while the tensor core has those of this one, as 05b
//         does with numbers: two sets of fragments.
// vs 06b  the second set. The barrier comes before the last step of a tile instead of before the
//         first, because that step reads the first fragments of the next tile; no copies in it.
//         A tile is 64 deep: four steps, three of which nothing waits before. `shallow` has the
//         second set alone.
// Limit   a fragment load is conflict-free only with padded rows, and padding moves every other row
//         off the 32-byte sectors. Next: 07 opens the fragments, so that 07b can do without.
#include <mma.h>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/store_fragments.cuh"
#include "ptx/cp_async.cuh"

namespace ladder::fragments_ahead {

namespace nv = nvcuda::wmma;

constexpr int THREADS = 256;
constexpr int MMA = 16;  // M, N and K of one fragment operation
constexpr int BM = 256, BN = 128, WM = 64, WN = 64;
constexpr int GROUP = 8;
constexpr int PIPE = 3;
constexpr int PAD = 8;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

using FragmentA = nv::fragment<nv::matrix_a, MMA, MMA, MMA, half, nv::row_major>;
using FragmentB = nv::fragment<nv::matrix_b, MMA, MMA, MMA, half, nv::row_major>;
using FragmentC = nv::fragment<nv::accumulator, MMA, MMA, MMA, float>;

template <int BK>
union Shared {
  struct Tiles {
    half A[BM][BK + PAD];
    half B[BK][BN + PAD];
  } tiles[PIPE];
  float staged[THREADS / 32][MMA][WN + 4];  // for the epilogue, when the tiles are done with
};

template <int BK>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const half* A, int64_t lda, const half* B, int64_t ldb,
                half* C, int64_t ldc) {
  constexpr unsigned TILE_BYTES = sizeof(typename Shared<BK>::Tiles);
  Shared<BK>& s = dynamic_shared<Shared<BK>>();
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
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
    ptx::cp_async_cg_16(a_to + i * A_STEP * (BK + PAD), a_from[i] + last_k0, a_valid * 2);
  for (int i = 0; i < B_COPIES; ++i) {
    const int k = last_k0 + i * B_STEP;
    ptx::cp_async_cg_16(b_to + i * B_STEP * (BN + PAD), b_from + k * ldb,
                        k + b_k < K ? b_valid * 2 : 0);
  }
  ptx::cp_async_commit_group();

  // The other copies go round the buffers, a tile in `parts`. Past the last tile, zeros are filled
  // in.
  int copy_k0 = 0;
  unsigned copy_buffer = TILE_BYTES;
  const auto copy = [&](int part, int parts, bool exists) {
    for (int i = part; i < A_COPIES; i += parts)
      ptx::cp_async_cg_16_ignore_src(plus_bytes(a_to, copy_buffer) + i * A_STEP * (BK + PAD),
                                     a_from[i] + copy_k0, !exists);
    for (int i = part; i < B_COPIES; i += parts)
      ptx::cp_async_cg_16_ignore_src(plus_bytes(b_to, copy_buffer) + i * B_STEP * (BN + PAD),
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
      nv::load_matrix_sync(rA[to][i], plus_bytes(a_fragment, buffer) + i * MMA * (BK + PAD) + k,
                           BK + PAD);
    for (int j = 0; j < WN / MMA; ++j)
      nv::load_matrix_sync(rB[to][j], plus_bytes(b_fragment, buffer) + k * (BN + PAD) + j * MMA,
                           BN + PAD);
  };
  ptx::cp_async_wait_group<PIPE - 2>();
  __syncthreads();
  load_fragments(0, 0, 0);

  FragmentC acc[WM / MMA][WN / MMA];
  for (auto& row : acc)
    for (auto& f : row) nv::fill_fragment(f, 0.0f);
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
      if (k < STEPS - 1) copy(k, STEPS - 1, t + PIPE - 1 < tiles);
      load_fragments((k + 1) % 2, buffer, (k + 1) % STEPS * MMA);

      for (int i = 0; i < WM / MMA; ++i)
        for (int j = 0; j < WN / MMA; ++j)
          nv::mma_sync(acc[i][j], rA[k % 2][i], rB[k % 2][j], acc[i][j]);
    }
  }

  ptx::cp_async_wait_group<0>();
  __syncthreads();  // the staging area overlays the tiles: no copy, no reader may be left
  for (int i = 0; i < WM / MMA; ++i)
    store_rows(s.staged[warp], acc[i], C, ldc, tile.m0 + warp_m + i * MMA, tile.n0 + warp_n, M, N);
}

template <int BK>
void gemm_depth(const Gemm<half, half>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel<BK>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS),
         sizeof(Shared<BK>), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}

inline void gemm_shallow(const Gemm<half, half>& p) {
  gemm_depth<32>(p);
}
// Three tiles that are 64 deep take 159 KB of shared memory; where a device has less, they are 32
// deep.
inline void gemm(const Gemm<half, half>& p) {
  const int available = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (sizeof(Shared<64>) <= static_cast<size_t>(available))
    gemm_depth<64>(p);
  else
    gemm_depth<32>(p);
}

}  // namespace ladder::fragments_ahead
