#pragma once
// 08 tma: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    one thread asks TMA, the tensor memory accelerator, for a whole tile; it comes swizzled,
//         with zeros where the matrix ends, and an mbarrier counts its bytes.
// vs 07b  two tensor maps and an mbarrier a buffer instead of twelve cp.asyncs a thread: no
//         addresses, no edges, no groups to count, no tile along K that comes first. A fourth
//         buffer: there is room (`three_buffers` has as many as 07b). The swizzle is the same one;
//         it and the epilogue are parts now.
// Limit   still mma.sync, whose operands go through registers: the tensor pipe is busy 86% of the
//         time (H200, 4096^3), but a clock of it does two thirds of what a clock of wgmma does, and
//         that is 67% of cuBLAS. Next: 09.
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/store_halves.cuh"
#include "parts/swizzle.cuh"
#include "parts/vector_halves.cuh"
#include "ptx/mma.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"

namespace ladder::tma {

constexpr int THREADS = 256;
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;
constexpr int GROUP = 8;
constexpr int BM = 256, BN = 128, BK = 64, WM = 64, WN = 64;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

// A row of a box is 128 bytes: B comes in two, one for each column of warps.
template <int PIPE>
struct Shared {
  struct Tiles {
    half A[BM][BK];
    half B[BN / WN][BK][WN];
  };
  union {
    Tiles tiles[PIPE];
    half staged[THREADS / 32][WM][WN];  // for the epilogue, when the tiles are done with
  };
  uint64_t full[PIPE];  // completes when a tile has landed
};

template <int PIPE>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, half* C, int64_t ldc) {
  constexpr unsigned TILE_BYTES = sizeof(typename Shared<PIPE>::Tiles);
  Shared<PIPE>& s = dynamic_shared<Shared<PIPE>>();
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();

  // By one thread: the barrier expects the bytes, TMA counts them as they land.
  const int tiles = ceil_div(K, BK);
  const auto copy = [&](int t) {
    const int to = t % PIPE;
    ptx::mbarrier_arrive_expect_tx(&s.full[to], TILE_BYTES);
    ptx::tma_load(s.tiles[to].A, &map_A, t * BK, tile.m0, &s.full[to]);
    for (int j = 0; j < BN / WN; ++j)
      ptx::tma_load(s.tiles[to].B[j], &map_B, tile.n0 + j * WN, t * BK, &s.full[to]);
  };
  if (threadIdx.x == 0)
    for (int t = 0; t < min(PIPE - 1, tiles); ++t) copy(t);

  const int block_col = swizzled(lane, lane / 16 * 8);
  half* const a_fragment = &s.tiles[0].A[warp_m + lane % 16][0];
  half* const b_fragment = &s.tiles[0].B[warp_n / WN][lane % 16][0];
  uint32_t rA[2][WM / MMA_M][4];
  uint32_t rB[2][WN / 16][4];  // two fragments of 8 columns each
  const auto load_fragments = [&](int to, unsigned buffer, int k) {
    for (int i = 0; i < WM / MMA_M; ++i)
      ptx::ldmatrix_x4(rA[to][i],
                       plus_bytes(a_fragment, buffer) + i * MMA_M * BK + (block_col ^ k));
    for (int j = 0; j < WN / 16; ++j)
      ptx::ldmatrix_x4_trans(rB[to][j],
                             plus_bytes(b_fragment, buffer) + k * WN + (block_col ^ j * 16));
  };
  // Phase t / PIPE of a buffer's barrier is over when tile t has landed.
  ptx::mbarrier_wait_parity(&s.full[0], 0);
  load_fragments(0, 0, 0);

  float acc[WM / MMA_M][WN / MMA_N][4] = {};
  constexpr int STEPS = BK / MMA_K;
  unsigned buffer = 0;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      if (k == STEPS - 1) {
        __syncthreads();  // everyone is done with this tile, whose buffer is filled next
        const int next = t + 1;
        if (next < tiles) ptx::mbarrier_wait_parity(&s.full[next % PIPE], next / PIPE % 2);
        // Behind the last tile, the fragments that are loaded next are not used.
        buffer = next < tiles ? (buffer + TILE_BYTES) % (PIPE * TILE_BYTES) : 0;
      }
      if (k == 1 && threadIdx.x == 0 && t + PIPE - 1 < tiles) copy(t + PIPE - 1);
      load_fragments((k + 1) % 2, buffer, (k + 1) % STEPS * MMA_K);

      for (int i = 0; i < WM / MMA_M; ++i)
        for (int n = 0; n < WN / MMA_N; ++n) {
          const int j = i % 2 == 0 ? n : WN / MMA_N - 1 - n;  // a snake: rB stays at the turn
          const uint32_t(&b)[4] = rB[k % 2][j / 2];
          ptx::mma_m16n8k16_f32_f16(acc[i][j], rA[k % 2][i], b[j % 2 * 2], b[j % 2 * 2 + 1]);
        }
    }
  }

  // To C by way of shared memory, each warp for itself: a lane has pairs of neighbours, a store
  // wants eight.
  __syncthreads();  // the staging area overlays the tiles: no reader may be left
  half(*const staged)[WN] = s.staged[warp];
#pragma unroll
  for (int i = 0; i < WM / MMA_M; ++i)
#pragma unroll
    for (int j = 0; j < WN / MMA_N; ++j)
      stage_halves(staged, i * MMA_M, j * MMA_N, acc[i][j], lane);
  __syncwarp();  // all of it is written before any lane reads
  store_staged<WM>(staged, C, ldc, tile.m0 + warp_m, tile.n0 + warp_n, M, N, lane);
}

// Throws CudaError where there is no TMA.
template <int PIPE>
void gemm_pipe(const Gemm<half, half>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  if (p.K == 0) {  // a tensor map has no place for an empty matrix
    LADDER_CUDA_CHECK(
        cudaMemset2DAsync(p.C, p.ldc * sizeof(half), 0, p.N * sizeof(half), p.M, p.stream));
    return;
  }
  launch(gemm_kernel<PIPE>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS),
         sizeof(Shared<PIPE>), p.stream, p.M, p.N, p.K, ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
         ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK), p.C, p.ldc);
}

inline void gemm_two_buffers(const Gemm<half, half>& p) {
  gemm_pipe<2>(p);
}
// As many as 07b has.
inline void gemm_three_buffers(const Gemm<half, half>& p) {
  gemm_pipe<3>(p);
}
// Four buffers take 192 KB of shared memory; where a device has less, there are two.
inline void gemm(const Gemm<half, half>& p) {
  const int available = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (sizeof(Shared<4>) <= static_cast<size_t>(available))
    gemm_pipe<4>(p);
  else
    gemm_pipe<2>(p);
}

}  // namespace ladder::tma
