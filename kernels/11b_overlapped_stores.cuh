#pragma once
// 11b overlapped_stores: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    TMA stores C as well, from shared memory: a warp orders it, box by box, and goes on to
//         its next tile while the last boxes are still on their way.
// vs 11   two boxes a warp, so that one is written while the other is being stored; stmatrix
//         instead of each lane's pairs; a third tensor map and TMA stores instead of the lanes'
//         own.
// Limit   the clock, as before. What is left is what the launcher chooses: 11c.
#include <algorithm>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_halves.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::overlapped_stores {

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
  half staged[CONSUMERS * WARPGROUP / 32][2][16][BOX];  // two boxes a warp, on their way to C
  uint64_t full[PIPE];                                  // completes when a tile has landed
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

__device__ __forceinline__ uint32_t as_halves(float low, float high) {
  const half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

template <bool BY_TMA>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, half* C, int64_t ldc) {
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
        backwards = !backwards;
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
#pragma unroll
      for (int j = 0; j < BN / BOX; ++j) {
        // The box that was here before is on its way; of the others, one may still wait.
        constexpr int STAGED = 2;
        half(*const staged)[BOX] = s.staged[warp][j % STAGED];
        if (lane == 0) ptx::bulk_wait_group_read<STAGED - 1>();
        __syncwarp();  // no lane writes before lane 0, who sent it, has waited, and all have read
#pragma unroll
        for (int col = 0; col < BOX; col += 16) {
          const float* const a = &acc[(j * BOX + col) / 2];
          const uint32_t block[4] = {as_halves(a[0], a[1]), as_halves(a[2], a[3]),
                                     as_halves(a[4], a[5]), as_halves(a[6], a[7])};
          ptx::stmatrix_x4(&staged[lane % 16][swizzled(lane % 16, col + lane / 16 * 8)], block);
        }
        ptx::fence_proxy_async();  // TMA sees what this lane has written
        __syncwarp();              // and all lanes have
        const int m = tile.m0 + warp * 16, n = tile.n0 + j * BOX;
        if (!BY_TMA) {
          store_staged<16>(staged, C, ldc, m, n, M, N, lane);
        } else if (n + BOX <= N || N % 8 == 0) {
          if (lane == 0) ptx::tma_store(&map_C, n, m, staged);
        } else {  // TMA would write past the end of a row
          for (int row = 0; row < min(16, M - m); ++row)
            for (int col = lane; col < min(BOX, N - n); col += 32)
              C[(m + row) * ldc + n + col] = staged[row][swizzled(row, col)];
        }
        // A group for each box, an empty one for what the lanes have stored: the wait above counts
        // them.
        if (lane == 0) ptx::bulk_commit_group();
      }
    }
    if (lane == 0) ptx::bulk_wait_group_read<0>();  // the last boxes are still read
  }
}

// Throws CudaError where there is no TMA.
template <bool BY_TMA>
void gemm_stored(const Gemm<half, half>& p) {
  if (done_without_kernel(p)) return;
  const int tiles_of_C = ceil_div(p.M, BM) * ceil_div(p.N, BN);
  const int blocks = std::min(tiles_of_C, device_attribute(cudaDevAttrMultiProcessorCount));
  launch(gemm_kernel<BY_TMA>, dim3(blocks), dim3(THREADS), sizeof(Shared), p.stream, p.M, p.N, p.K,
         ptx::tensor_map(p.A, p.M, p.K, p.lda, BM), ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK),
         ptx::tensor_map(p.C, p.M, p.N, p.ldc, 16), p.C, p.ldc);
}

// The lanes store what stmatrix has staged, as in 11.
inline void gemm_by_lanes(const Gemm<half, half>& p) {
  gemm_stored<false>(p);
}
inline void gemm(const Gemm<half, half>& p) {
  gemm_stored<true>(p);
}

}  // namespace ladder::overlapped_stores
