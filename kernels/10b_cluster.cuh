#pragma once
// 10b cluster: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    two blocks, one below the other, read the same B: as a cluster, each brings half of it
//         for both (multicast).
// vs 10   the cluster; "empty" now means empty in both blocks, so the consumers arrive in both; no
//         block may start before the other one's barriers are there, or leave before its last tile.
// Limit   power, as before, and it gains nothing: requests of several blocks for the same B are
//         merged before they reach L2 anyway. Fewer are merged where rows begin off the lines of
//         128 bytes: up to a fifth faster there. 11 goes on from 10, and has clusters there only.
#include "launch.cuh"
#include "ptx/cluster.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::cluster {

constexpr int CLUSTER = 2;  // blocks
constexpr int WARPGROUP = 128;
constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int MMA_M = 64, MMA_N = 256, MMA_K = 16;
constexpr int GROUP = 16 / CLUSTER;
constexpr int BM = 128, BN = 256, BK = 64;
constexpr int BOX = 64;  // columns of a box: 128 bytes
constexpr int PIPE = 4;
static_assert(BM == CONSUMERS * MMA_M && BN == MMA_N);

struct Tile {
  int m0, n0;
};
// In groups as before; BM is the height of a cluster.
__device__ __forceinline__ Tile tile_of_cluster(int index, int M, int N, int BM, int BN) {
  const int tiles_m = ceil_div(M, BM), tiles_n = ceil_div(N, BN);
  const int first_m = index / (GROUP * tiles_n) * GROUP;
  const int height = min(GROUP, tiles_m - first_m);
  const int rest = index % (GROUP * tiles_n);
  return {(first_m + rest % height) * BM, rest / height * BN};
}

// TMA's 128-byte swizzle.
__device__ __forceinline__ int swizzle(int row, int col) {
  return col ^ row % 8 * 8;
}

struct Shared {
  struct Tiles {
    half A[BM][BK];
    half B[BN / BOX][BK][BOX];
  };
  union {
    Tiles tiles[PIPE];
    half staged[CONSUMERS * WARPGROUP / 32][16]
               [BN];  // for the epilogue, when the tiles are done with
  };
  uint64_t full[PIPE];   // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when the consumers of both blocks have multiplied it
};

// Of row `m` and column `k` of A's tile: rows along k, eight of them 1024 bytes from the next
// eight.
__device__ __forceinline__ uint64_t descriptor_a(const Shared::Tiles& tile, int m, int k) {
  return ptx::wgmma_descriptor(&tile.A[m][k], 0, 8 * BK * sizeof(half));
}
// Of row `k` of B's tile: rows along n, in boxes of 64; eight rows are 1024 bytes from the next
// eight.
__device__ __forceinline__ uint64_t descriptor_b(const Shared::Tiles& tile, int k) {
  return ptx::wgmma_descriptor(&tile.B[0][k][0], BK * BOX * sizeof(half), 8 * BOX * sizeof(half));
}

__global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, half* C, int64_t ldc) {
  Shared& s = dynamic_shared<Shared>();
  const int rank = blockIdx.x % CLUSTER;
  Tile tile = tile_of_cluster(blockIdx.x / CLUSTER, M, N, CLUSTER * BM, BN);
  tile.m0 += rank * BM;
  const int tiles = ceil_div(K, BK);

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CLUSTER * CONSUMERS);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  // No arrival and no tile of the other block may come before these are there.
  ptx::cluster_arrive();
  ptx::cluster_wait();

  // The producer.
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) {
      for (int t = 0; t < tiles; ++t) {
        const int to = t % PIPE;
        // Nobody in either block may still read what lies there. The first time round nobody does:
        // the phase before the first, of parity 1, counts as complete.
        ptx::mbarrier_wait_parity(&s.empty[to], (t / PIPE + 1) % 2);
        // All of it lands here, half of B by the other block's order. That may come first; the
        // phase still waits for this arrival.
        ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof(Shared::Tiles));
        ptx::tma_load(s.tiles[to].A, &map_A, t * BK, tile.m0, &s.full[to]);
        constexpr int BOXES = BN / BOX / CLUSTER;
        for (int j = rank * BOXES; j < (rank + 1) * BOXES; ++j)
          ptx::tma_load_multicast(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, t * BK, &s.full[to],
                                  (1 << CLUSTER) - 1);
      }
    }
    return;
  }

  // The consumers.
  ptx::setmaxnreg_inc<232>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int group_m = threadIdx.x / WARPGROUP * MMA_M;
  // The buffer of a tile goes back to the producers of both blocks.
  const auto release = [&](int t) {
    if (threadIdx.x % WARPGROUP < CLUSTER)
      ptx::mbarrier_arrive_cluster(&s.empty[t % PIPE], threadIdx.x % WARPGROUP);
  };
  float acc[BN / 2];
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    // Phase t / PIPE of a buffer's barrier is over when tile t has landed.
    ptx::mbarrier_wait_parity(&s.full[t % PIPE], t / PIPE % 2);
    const Shared::Tiles& now = s.tiles[t % PIPE];
    ptx::wgmma_fence();  // what was done to acc before comes first
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
      ptx::wgmma_m64k16_f32_f16(acc, descriptor_a(now, group_m, k), descriptor_b(now, k),
                                t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release(t - 1);
  }
  ptx::wgmma_wait_group<0>();
  release(tiles - 1);

  // To C by way of shared memory, each warp its 16 rows: a lane has pairs of neighbours, laid out
  // as in 07, a store wants eight. The staging area overlays the tiles: no consumer may still read
  // one. And no block may leave before the other one has sent its last arrival.
  ptx::cluster_arrive();
  ptx::cluster_wait();
  half(*const staged)[BN] = s.staged[warp];
#pragma unroll
  for (int j = 0; j < BN / 8; ++j)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = h * 8 + lane / 4, col = j * 8 + lane % 4 * 2;
      *reinterpret_cast<half2*>(&staged[row][swizzle(row, col)]) =
          __floats2half2_rn(acc[j * 4 + h * 2], acc[j * 4 + h * 2 + 1]);
    }
  __syncwarp();  // all of it is written before any lane reads
  for (int i = lane; i < 16 * BN / 8; i += 32) {
    const int row = i / (BN / 8), col = i % (BN / 8) * 8;
    const int m = tile.m0 + warp * 16 + row, n = tile.n0 + col;
    const half* const from = &staged[row][swizzle(row, col)];
    if (m < M && n + 8 <= N)
      *reinterpret_cast<uint4*>(&C[m * ldc + n]) = *reinterpret_cast<const uint4*>(from);
    else if (m < M)
      for (int e = 0; e < N - n; ++e) C[m * ldc + n + e] = from[e];
  }
}

// Throws CudaError where there is no TMA.
inline void gemm(const Gemm<half, half>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  if (p.K == 0) {  // a tensor map has no place for an empty matrix
    LADDER_CUDA_CHECK(
        cudaMemset2DAsync(p.C, p.ldc * sizeof(half), 0, p.N * sizeof(half), p.M, p.stream));
    return;
  }
  launch(gemm_kernel, dim3(ceil_div(p.M, CLUSTER * BM) * ceil_div(p.N, BN) * CLUSTER),
         dim3(THREADS), sizeof(Shared), p.stream, p.M, p.N, p.K,
         ptx::tensor_map(p.A, p.M, p.K, p.lda, BM), ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK), p.C,
         p.ldc);
}

}  // namespace ladder::cluster
