#pragma once
// 10 warp_specialized: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    one thread does nothing but copy, two warpgroups nothing but multiply. They meet at two
//         mbarriers a buffer, "full" and "empty", and never all together.
// vs 09   the roles, a function each; the ring of buffers with its second barrier; setmaxnreg,
//         which gives the registers that a copying warpgroup does not need to the others.
// Limit   those of 09: the roles gain nothing by themselves. A block still starts with empty
//         buffers and ends with a store during which nothing multiplies. Next: 11.
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_halves.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::warp_specialized {

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
  union {
    Tiles tiles[PIPE];
    // For the epilogue, when the tiles are done with.
    half staged[CONSUMERS * WARPGROUP / 32][16][BN];
  };
  uint64_t full[PIPE];   // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when both consumers have multiplied it
};

// The producer, one thread: fills every buffer as soon as it is empty.
__device__ __forceinline__ void produce(Shared& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, Tile tile, int tiles) {
  for (int t = 0; t < tiles; ++t) {
    const int to = t % PIPE;
    // Nobody may still read what lies there. The first time round nobody does: the phase before the
    // first, of parity 1, counts as complete.
    ptx::mbarrier_wait_parity(&s.empty[to], (t / PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    ptx::tma_load(s.tiles[to].A, &map_A, t * BK, tile.m0, &s.full[to]);
    for (int j = 0; j < BN / BOX; ++j)
      ptx::tma_load(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, t * BK, &s.full[to]);
  }
}

// A consumer, a warpgroup: multiplies its 64 rows of every tile as soon as it has landed.
__device__ __forceinline__ void consume(Shared& s, int tiles, float (&acc)[BN / 2]) {
  const int group_m = threadIdx.x / WARPGROUP * MMA_M;
  // The buffer of a tile goes back to the producer.
  const auto release = [&](int t) {
    if (threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty[t % PIPE]);
  };
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    // Phase t / PIPE of a buffer's barrier is over when tile t has landed.
    ptx::mbarrier_wait_parity(&s.full[t % PIPE], t / PIPE % 2);
    const auto& now = s.tiles[t % PIPE];
    ptx::wgmma_fence();  // what was done to acc before comes first
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
      ptx::wgmma_m64k16_f32_f16(acc, descriptor_a(now.A, group_m, k), descriptor_b(now.B, k),
                                t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release(t - 1);
  }
  ptx::wgmma_wait_group<0>();
  release(tiles - 1);
}

template <bool SET_REGISTERS>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, half* C, int64_t ldc) {
  Shared& s = dynamic_shared<Shared>();
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  const int tiles = ceil_div(K, BK);

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CONSUMERS);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();

  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    if (SET_REGISTERS) ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) produce(s, map_A, map_B, tile, tiles);
  } else {
    if (SET_REGISTERS) ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float acc[BN / 2];
    consume(s, tiles, acc);

    // To C by way of shared memory, each warp its 16 rows. The staging area overlays the tiles:
    // neither consumer may still read one.
    ptx::mbarrier_wait_parity(&s.empty[(tiles - 1) % PIPE], (tiles - 1) / PIPE % 2);
    half(*const staged)[BN] = s.staged[warp];
#pragma unroll
    for (int j = 0; j < BN / 8; ++j) stage_halves(staged, 0, j * 8, &acc[j * 4], lane);
    __syncwarp();  // all of it is written before any lane reads
    store_staged<16>(staged, C, ldc, tile.m0 + warp * 16, tile.n0, M, N, lane);
  }
}

// Throws CudaError where there is no TMA.
template <bool SET_REGISTERS>
void launch_tiles(const Gemm<half, half>& p) {
  if (done_without_kernel(p)) return;
  launch(gemm_kernel<SET_REGISTERS>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS),
         sizeof(Shared), p.stream, p.M, p.N, p.K, ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
         ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK), p.C, p.ldc);
}

// All threads keep the registers that they are launched with.
inline void gemm_fixed_registers(const Gemm<half, half>& p) {
  launch_tiles<false>(p);
}
inline void gemm(const Gemm<half, half>& p) {
  launch_tiles<true>(p);
}

}  // namespace ladder::warp_specialized
