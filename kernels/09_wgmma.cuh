#pragma once
// 09 wgmma: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    a warpgroup of four warps multiplies 64x256 by 16 straight from shared memory: one
//         instruction, no ldmatrix, no registers for A and B.
// vs 08   wgmma on descriptors of the tiles instead of fragments; the tile is 128x256, because B is
//         read from shared memory once for each 64 rows, and so a band of blocks is 16 tiles high,
//         as many rows as before (`row_by_row` has no bands); four buffers always: the only GPU
//         with wgmma has room. One is filled again behind a tile's multiplications, where everyone
//         waits anyway.
// Limit   the clock, from here on, and a block's beginning and end: 87% of the FLOPs that the
//         tensor cores can do at 1.58 GHz, to which 1.98 GHz fall in a launch (H200, 4096^3).
//         Next: 10, whose roles 11 needs.
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_halves.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::wgmma {

constexpr int WARPGROUP = 128;
constexpr int THREADS = 2 * WARPGROUP;
constexpr int MMA_M = 64, MMA_K = 16;  // and as many columns as the tile has
constexpr int BM = 128, BN = 256, BK = 64;
constexpr int BOX = 64;  // columns of a box: 128 bytes
constexpr int PIPE = 4;
static_assert(BM / MMA_M * WARPGROUP == THREADS);

struct Shared {
  struct Tiles {
    half A[BM][BK];
    half B[BN / BOX][BK][BOX];
  };
  union {
    Tiles tiles[PIPE];
    half staged[THREADS / 32][16][BN];  // for the epilogue, when the tiles are done with
  };
  uint64_t full[PIPE];  // completes when a tile has landed
};

// Of row `m` and column `k` of A's tile: rows along k, eight of them 1024 bytes from the next
// eight.
__device__ __forceinline__ uint64_t descriptor_a(const half (&A)[BM][BK], int m, int k) {
  return ptx::wgmma_descriptor(&A[m][k], 0, 8 * BK * sizeof(half));
}
// Of row `k` of B's tile: rows along n, in boxes of 64; eight rows are 1024 bytes from the next
// eight.
__device__ __forceinline__ uint64_t descriptor_b(const half (&B)[BN / BOX][BK][BOX], int k) {
  return ptx::wgmma_descriptor(&B[0][k][0], BK * BOX * sizeof(half), 8 * BOX * sizeof(half));
}

template <int IN_FLIGHT, int GROUP>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, half* C, int64_t ldc) {
  Shared& s = dynamic_shared<Shared>();
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int group_m = threadIdx.x / WARPGROUP * MMA_M;

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();

  // By one thread: the barrier expects the bytes, TMA counts them as they land.
  const int tiles = ceil_div(K, BK);
  const auto copy = [&](int t) {
    const int to = t % PIPE;
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof(Shared::Tiles));
    ptx::tma_load(s.tiles[to].A, &map_A, t * BK, tile.m0, &s.full[to]);
    for (int j = 0; j < BN / BOX; ++j)
      ptx::tma_load(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, t * BK, &s.full[to]);
  };
  if (threadIdx.x == 0)
    for (int t = 0; t < min(PIPE - 1, tiles); ++t) copy(t);

  float acc[BN / 2];
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    // Phase t / PIPE of a buffer's barrier is over when tile t has landed.
    ptx::mbarrier_wait_parity(&s.full[t % PIPE], t / PIPE % 2);
    const Shared::Tiles& now = s.tiles[t % PIPE];
    ptx::wgmma_fence();  // what was done to acc before comes first
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
      ptx::wgmma_m64k16_f32_f16(acc, descriptor_a(now.A, group_m, k), descriptor_b(now.B, k),
                                t > 0 || k > 0);
    ptx::wgmma_commit_group();
    // Both warpgroups are done with the tile before when each has waited for all but IN_FLIGHT = 1
    // of its groups; its buffer is filled again while that one runs.
    ptx::wgmma_wait_group<IN_FLIGHT>();
    __syncthreads();
    if (threadIdx.x == 0 && t + PIPE - 1 < tiles) copy(t + PIPE - 1);
  }
  ptx::wgmma_wait_group<0>();

  // To C by way of shared memory, each warp its 16 rows.
  __syncthreads();  // the staging area overlays the tiles: no reader may be left
  half(*const staged)[BN] = s.staged[warp];
#pragma unroll
  for (int j = 0; j < BN / 8; ++j) stage_halves(staged, 0, j * 8, &acc[j * 4], lane);
  __syncwarp();  // all of it is written before any lane reads
  store_staged<16>(staged, C, ldc, tile.m0 + warp * 16, tile.n0, M, N, lane);
}

// Throws CudaError where there is no TMA.
template <int IN_FLIGHT, int GROUP>
void launch_tiles(const Gemm<half, half>& p) {
  if (done_without_kernel(p)) return;
  launch(gemm_kernel<IN_FLIGHT, GROUP>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS),
         sizeof(Shared), p.stream, p.M, p.N, p.K, ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
         ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK), p.C, p.ldc);
}

// Waits for every tile's multiplications before it starts the next one's.
inline void gemm_drained(const Gemm<half, half>& p) {
  launch_tiles<0, 16>(p);
}
// Blocks that run at the same time share rows of A, and all of B.
inline void gemm_row_by_row(const Gemm<half, half>& p) {
  launch_tiles<1, 1>(p);
}
inline void gemm(const Gemm<half, half>& p) {
  launch_tiles<1, 16>(p);
}

}  // namespace ladder::wgmma
