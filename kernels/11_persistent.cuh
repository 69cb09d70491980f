#pragma once
// 11 persistent: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    the blocks stay, one a multiprocessor, each with a list of tiles of C: while the
//         consumers store one, the producer already brings the operands of the next.
// vs 10   a loop over tiles of C in both roles, through which the buffers are counted; staging of
//         its own for the epilogue, because the buffers are in use; every other tile of C from the
//         end of K.
// Limit   the clock: at 4096^3 the tensor cores do 89% of the FLOPs that are possible at it, 10's
//         86%, but it is 2% lower, and the kernel 2% faster; at 8192^3 it is no faster (H200).
//         While its own tile is stored, a consumer still multiplies nothing. Next: 11b.
#include <algorithm>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_halves.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::persistent {

constexpr int WARPGROUP = 128;
constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int MMA_M = 64, MMA_K = 16;  // and as many columns as the tile has
constexpr int GROUP = 16;
constexpr int BM = 128, BN = 256, BK = 64;
constexpr int BOX = 64;  // columns of a box: 128 bytes
constexpr int PIPE = 4;
static_assert(BM == CONSUMERS * MMA_M);

// Registers a thread, by role. At the launch all have as many, 168: the largest multiple of 8 with
// which three warpgroups share a multiprocessor's 64 K.
constexpr int LAUNCH_REGISTERS = 64 * 1024 / THREADS / 8 * 8;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <=
              (CONSUMERS + 1) * LAUNCH_REGISTERS);

struct Shared {
  struct Tiles {
    half A[BM][BK];
    half B[BN / BOX][BK][BOX];
  };
  Tiles tiles[PIPE];
  // For the epilogue, while tiles land: a box a warp, because beside 192 KB of tiles there is no
  // room for the 64 KB of all of C's tile.
  half staged[CONSUMERS * WARPGROUP / 32][16][BOX];
  uint64_t full[PIPE];   // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when both consumers have multiplied it
};

// The producer, one thread: fills every buffer as soon as it is empty. `step` counts the tiles of
// operands since the start: they go to buffer step % PIPE, in its round step / PIPE.
__device__ __forceinline__ void produce(Shared& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, Tile tile, int tiles,
                                        bool backwards, unsigned& step) {
  for (int t = 0; t < tiles; ++t, ++step) {
    const unsigned to = step % PIPE;
    // Nobody may still read what lies there. The first time round nobody does: the phase before the
    // first, of parity 1, counts as complete.
    ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    const int k0 = (backwards ? tiles - 1 - t : t) * BK;
    ptx::tma_load(s.tiles[to].A, &map_A, k0, tile.m0, &s.full[to]);
    for (int j = 0; j < BN / BOX; ++j)
      ptx::tma_load(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, k0, &s.full[to]);
  }
}

// A consumer, a warpgroup: multiplies its 64 rows of every tile as soon as it has landed.
__device__ __forceinline__ void consume(Shared& s, int tiles, float (&acc)[BN / 2],
                                        unsigned& step) {
  const int group_m = threadIdx.x / WARPGROUP * MMA_M;
  // The buffer of a tile goes back to the producer.
  const auto release = [&](unsigned step) {
    if (threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty[step % PIPE]);
  };
#pragma unroll 1
  for (int t = 0; t < tiles; ++t, ++step) {
    // Phase step / PIPE of a buffer's barrier is over when the tile has landed.
    ptx::mbarrier_wait_parity(&s.full[step % PIPE], step / PIPE % 2);
    const auto& now = s.tiles[step % PIPE];
    ptx::wgmma_fence();  // what was done to acc before comes first
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
      ptx::wgmma_m64k16_f32_f16(acc, descriptor_a(now.A, group_m, k), descriptor_b(now.B, k),
                                t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release(step - 1);
  }
  ptx::wgmma_wait_group<0>();
  release(step - 1);
}

template <bool TURN>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, half* C, int64_t ldc) {
  Shared& s = dynamic_shared<Shared>();
  const int tiles = ceil_div(K, BK), tiles_of_C = ceil_div(M, BM) * ceil_div(N, BN);

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CONSUMERS);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) {
      // Every other tile of C from the end of K: it is mostly in the band of those before, and what
      // they have read last of the band's rows of A is still in L2.
      bool backwards = false;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const Tile tile = tile_of<BM, BN, GROUP>(index, M, N);
        produce(s, map_A, map_B, tile, tiles, backwards, step);
        if (TURN) backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_of<BM, BN, GROUP>(index, M, N);
      float acc[BN / 2];
      consume(s, tiles, acc, step);

      // To C by way of shared memory, each warp its 16 rows, box by box.
      half(*const staged)[BOX] = s.staged[warp];
#pragma unroll
      for (int n = 0; n < BN; n += BOX) {
        __syncwarp();  // all lanes have read the box that was here before
#pragma unroll
        for (int j = 0; j < BOX / 8; ++j) stage_halves(staged, 0, j * 8, &acc[n / 2 + j * 4], lane);
        __syncwarp();  // all of it is written before any lane reads
        store_staged<16>(staged, C, ldc, tile.m0 + warp * 16, tile.n0 + n, M, N, lane);
      }
    }
  }
}

// Throws CudaError where there is no TMA.
template <bool TURN>
void gemm_turning(const Gemm<half, half>& p) {
  if (done_without_kernel(p)) return;
  const int tiles_of_C = ceil_div(p.M, BM) * ceil_div(p.N, BN);
  const int blocks = std::min(tiles_of_C, device_attribute(cudaDevAttrMultiProcessorCount));
  launch(gemm_kernel<TURN>, dim3(blocks), dim3(THREADS), sizeof(Shared), p.stream, p.M, p.N, p.K,
         ptx::tensor_map(p.A, p.M, p.K, p.lda, BM), ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK), p.C,
         p.ldc);
}

// Every tile of C from the beginning of K.
inline void gemm_forward(const Gemm<half, half>& p) {
  gemm_turning<false>(p);
}
inline void gemm(const Gemm<half, half>& p) {
  gemm_turning<true>(p);
}

}  // namespace ladder::persistent
