#pragma once
// 11 persistent_cluster: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    nothing waits for a tile of C: the blocks stay, and while a tile is being stored the next
//         one's operands are already coming. Two blocks share what both of them read.
// vs 10   a loop over tiles of C in both roles; clusters of two, one below the other, of which each
//         block loads half of B for both (multicast); stmatrix and TMA stores, which run on beside
//         the next tile's multiplications; narrower tiles for small problems.
// Limit   power: the tensor cores are busy 98% of the time, at 1.55 of 1.98 GHz (H200, 8192^3).
#include <cuda/ptx>

#include "common.cuh"
#include "ptx/cluster.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/wgmma.cuh"

namespace persistent_cluster {

using namespace cuda::ptx;

constexpr int WARPGROUP = 128;
constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int MMA_M = 64, MMA_K = 16;
constexpr int BM = 128, BK = 64;
constexpr int BOX = 64;  // columns of a box: 128 bytes
static_assert(BM == CONSUMERS * MMA_M);

struct Tile {
  int m0, n0;
};
// In groups as before; BM is the height of a cluster.
__device__ __forceinline__ Tile tile_of_cluster(int index, int M, int N, int BM, int BN) {
  constexpr int GROUP = 8;
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

template <int BN>
struct Shared {
  static constexpr int PIPE = BN == 256 ? 4 : BN == 128 ? 6 : 8;
  struct Tiles {
    half A[BM][BK];
    half B[BN / BOX][BK][BOX];
  };
  Tiles tiles[PIPE];
  half staged[CONSUMERS * WARPGROUP / 32][2][16][BOX];  // two boxes a warp, on their way to C
  uint64_t full[PIPE];                                  // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when the consumers of all blocks have multiplied it
};

// Of row `m` and column `k` of A's tile: rows along k, eight of them 1024 bytes from the next
// eight.
template <class Tiles>
__device__ __forceinline__ uint64_t descriptor_a(const Tiles& tile, int m, int k) {
  return ptx::wgmma_descriptor(&tile.A[m][k], 0, 8 * BK * sizeof(half));
}
// Of row `k` of B's tile: rows along n, in boxes of 64; eight rows are 1024 bytes from the next
// eight.
template <class Tiles>
__device__ __forceinline__ uint64_t descriptor_b(const Tiles& tile, int k) {
  return ptx::wgmma_descriptor(&tile.B[0][k][0], BK * BOX * sizeof(half), 8 * BOX * sizeof(half));
}

__device__ __forceinline__ uint32_t as_halves(float low, float high) {
  const half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// Rows of a cluster's tile of C are divided among its blocks, columns are common to them.
template <int CLUSTER, int BN>
__global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, half* C, int64_t ldc) {
  constexpr int PIPE = Shared<BN>::PIPE;
  using Tiles = typename Shared<BN>::Tiles;
  Shared<BN>& s = dynamic_shared<Shared<BN>>();
  const int steps = ceil_div(K, BK);
  const int tiles = ceil_div(M, CLUSTER * BM) * ceil_div(N, BN);
  const int clusters = gridDim.x / CLUSTER, cluster = blockIdx.x / CLUSTER;
  const int rank = blockIdx.x % CLUSTER;

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) mbarrier_init(&barrier, CLUSTER * CONSUMERS);
    fence_mbarrier_init(sem_release, scope_cluster);  // TMA sees them, too
  }
  // No arrival and no tile of the other block may come before these are there.
  barrier_cluster_arrive();
  barrier_cluster_wait();

  // Counts the tiles of operands since the start: they are in buffer step % PIPE, in its round
  // step / PIPE.
  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {  // the producer
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) {
      // Every other tile of C from the end of K: it shares A's rows with the one before, and what
      // that one read last is still in L2.
      bool backwards = false;
      for (int index = cluster; index < tiles; index += clusters, backwards = !backwards) {
        const Tile tile = tile_of_cluster(index, M, N, CLUSTER * BM, BN);
        for (int t = 0; t < steps; ++t, ++step) {
          const unsigned to = step % PIPE;
          // Nobody in any block may still read what lies there. The first time round nobody does:
          // the phase before the first, of parity 1, counts as complete.
          while (!mbarrier_try_wait_parity(&s.empty[to], (step / PIPE + 1) % 2)) {
          }
          // All of it lands here, a part of B by the other block's order. That may come first; the
          // phase still waits for this arrival.
          mbarrier_arrive_expect_tx(sem_release, scope_cta, space_shared, &s.full[to],
                                    sizeof(Tiles));
          const int k0 = (backwards ? steps - 1 - t : t) * BK;
          cp_async_bulk_tensor(space_cluster, space_global, s.tiles[to].A, &map_A,
                               {k0, tile.m0 + rank * BM}, &s.full[to]);
          constexpr int ROWS = BK / CLUSTER;  // of each box of B
          for (int j = 0; j < BN / BOX; ++j)
            cp_async_bulk_tensor(space_cluster, space_global, s.tiles[to].B[j][rank * ROWS], &map_B,
                                 {tile.n0 + j * BOX, k0 + rank * ROWS}, &s.full[to],
                                 static_cast<uint16_t>((1 << CLUSTER) - 1));
        }
      }
    }
  } else {  // the consumers
    ptx::setmaxnreg_inc<232>();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int group_m = threadIdx.x / WARPGROUP * MMA_M;
    // The buffer of a step goes back to the producers of all blocks.
    const auto release = [&](unsigned step) {
      if (threadIdx.x % WARPGROUP < CLUSTER)
        ptx::mbarrier_arrive_cluster(&s.empty[step % PIPE], threadIdx.x % WARPGROUP);
    };
    for (int index = cluster; index < tiles; index += clusters) {
      const Tile tile = tile_of_cluster(index, M, N, CLUSTER * BM, BN);
      float acc[BN / 2];
#pragma unroll 1
      for (int t = 0; t < steps; ++t, ++step) {
        // Phase step / PIPE is over when all of the tile has landed.
        while (!mbarrier_try_wait_parity(&s.full[step % PIPE], step / PIPE % 2)) {
        }
        const Tiles& now = s.tiles[step % PIPE];
        ptx::wgmma_fence();  // what was done to acc before comes first
#pragma unroll
        for (int k = 0; k < BK; k += MMA_K)
          ptx::wgmma_m64k16_f32_f16(acc, descriptor_a(now, group_m, k), descriptor_b(now, k),
                                    t > 0 || k > 0);
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // while these run, those of the step before are done
        if (t > 0) release(step - 1);
      }
      ptx::wgmma_wait_group<0>();
      release(step - 1);

      // Each warp stores its 16 rows, box by box.
#pragma unroll
      for (int j = 0; j < BN / BOX; ++j) {
        // The box that was here before is on its way; of the others, one may still wait.
        constexpr int STAGED = BN > BOX ? 2 : 1;
        half(*const staged)[BOX] = s.staged[warp][j % STAGED];
        if (lane == 0) cp_async_bulk_wait_group_read(n32_t<STAGED - 1>());
        __syncwarp();  // no lane writes before lane 0, who sent it, has waited
#pragma unroll
        for (int col = 0; col < BOX; col += 16) {
          const float* const a = &acc[(j * BOX + col) / 2];
          const uint32_t block[4] = {as_halves(a[0], a[1]), as_halves(a[2], a[3]),
                                     as_halves(a[4], a[5]), as_halves(a[6], a[7])};
          ptx::stmatrix_x4(&staged[lane % 16][swizzle(lane % 16, col + lane / 16 * 8)], block);
        }
        fence_proxy_async(space_shared);  // TMA sees what this lane has written
        __syncwarp();                     // and all lanes have
        const int m = tile.m0 + rank * BM + warp * 16, n = tile.n0 + j * BOX;
        if (n + BOX <= N || N % 8 == 0) {
          if (lane == 0) {
            cp_async_bulk_tensor(space_global, space_shared, &map_C, {n, m}, staged);
            cp_async_bulk_commit_group();
          }
        } else {  // TMA would write past the end of a row
          for (int row = 0; row < min(16, M - m); ++row)
            for (int col = lane; col < min(BOX, N - n); col += 32)
              C[(m + row) * ldc + n + col] = staged[row][swizzle(row, col)];
        }
      }
    }
    if (lane == 0) cp_async_bulk_wait_group_read(n32_t<0>());  // the last boxes are still read
  }
  // A block's shared memory stays until the other one has sent its last arrival and tile.
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

// Throws CudaError where there is no TMA.
template <int CLUSTER, int BN>
void gemm_cluster(const Gemm<half, half>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  if (p.K == 0) {  // a tensor map has no place for an empty matrix
    CUDA_CHECK(cudaMemset2DAsync(p.C, p.ldc * sizeof(half), 0, p.N * sizeof(half), p.M, p.stream));
    return;
  }
  // No more clusters than it takes to be done in as many waves: power that an idle multiprocessor
  // saves is the others' clock.
  const int tiles = ceil_div(p.M, CLUSTER * BM) * ceil_div(p.N, BN);
  const int waves = ceil_div(tiles, device_attribute(cudaDevAttrMultiProcessorCount) / CLUSTER);
  launch(gemm_kernel<CLUSTER, BN>, dim3(ceil_div(tiles, waves) * CLUSTER), dim3(THREADS),
         sizeof(Shared<BN>), p.stream, p.M, p.N, p.K, ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
         ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK / CLUSTER),
         ptx::tensor_map(p.C, p.M, p.N, p.ldc, 16), p.C, p.ldc);
}

inline void gemm_alone(const Gemm<half, half>& p) {
  gemm_cluster<1, 256>(p);
}
inline void gemm(const Gemm<half, half>& p) {
  // A step along K of a tile of 256 or 128 columns takes 0.72 or 0.39 us (H200, 8192^3): that of
  // its columns and 24 more.
  const int clusters = device_attribute(cudaDevAttrMultiProcessorCount) / 2;
  const auto cost = [&](int BN) {
    return static_cast<int64_t>(ceil_div(ceil_div(p.M, 2 * BM) * ceil_div(p.N, BN), clusters)) *
           (BN + 24);
  };
  if (cost(256) <= cost(128) && cost(256) <= cost(64))
    gemm_cluster<2, 256>(p);
  else if (cost(128) <= cost(64))
    gemm_cluster<2, 128>(p);
  else
    gemm_cluster<2, 64>(p);
}

}  // namespace persistent_cluster
