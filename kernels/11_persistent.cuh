#pragma once
// 11 persistent: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    nothing waits for a tile of C: the blocks stay, and while a tile is being stored the next
//         one's operands are already coming.
// vs 10   a loop over tiles of C in both roles, through which the buffers are counted; stmatrix and
//         TMA stores, which run on beside the next tile's multiplications; of four widths of tile
//         the one that is done first; 10b's clusters where they pay.
// Limit   power: the tensor cores it uses are busy 96% of the time, at 1.58 of 1.98 GHz (H200,
//         8192^3).
#include <algorithm>
#include <iterator>

#include "launch.cuh"
#include "ptx/cluster.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::persistent {

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
// This block's tile, when its cluster is at tile `index`: the cluster's blocks have theirs one
// below another. In groups as before.
template <int BN, int CLUSTER>
__device__ __forceinline__ Tile tile_of(int index, int M, int N) {
  constexpr int GROUP = 16 / CLUSTER;
  const int tiles_m = ceil_div(M, CLUSTER * BM), tiles_n = ceil_div(N, BN);
  const int first_m = index / (GROUP * tiles_n) * GROUP;
  const int height = min(GROUP, tiles_m - first_m);
  const int rest = index % (GROUP * tiles_n);
  const int rank = blockIdx.x % CLUSTER;
  return {((first_m + rest % height) * CLUSTER + rank) * BM, rest / height * BN};
}

// TMA's 128-byte swizzle.
__device__ __forceinline__ int swizzle(int row, int col) {
  return col ^ row % 8 * 8;
}

template <int BN>
struct Shared {
  static constexpr int PIPE = BN >= 192 ? 4 : BN == 128 ? 6 : 8;
  struct Tiles {
    half A[BM][BK];
    half B[BN / BOX][BK][BOX];
  };
  Tiles tiles[PIPE];
  half staged[CONSUMERS * WARPGROUP / 32][2][16][BOX];  // two boxes a warp, on their way to C
  uint64_t full[PIPE];                                  // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when the consumers of the whole cluster have multiplied it
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

template <int BN, int CLUSTER>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, half* C, int64_t ldc) {
  constexpr int PIPE = Shared<BN>::PIPE;
  using Tiles = typename Shared<BN>::Tiles;
  Shared<BN>& s = dynamic_shared<Shared<BN>>();
  const int steps = ceil_div(K, BK);
  const int tiles = ceil_div(M, CLUSTER * BM) * ceil_div(N, BN);  // of clusters

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CLUSTER * CONSUMERS);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();

  // Counts the tiles of operands since the start: they are in buffer step % PIPE, in its round
  // step / PIPE.
  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {  // the producer
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) {
      // Every other tile of C from the end of K: it shares A's rows with the one before, and what
      // that one read last is still in L2.
      bool backwards = false;
      for (int index = blockIdx.x / CLUSTER; index < tiles;
           index += gridDim.x / CLUSTER, backwards = !backwards) {
        const Tile tile = tile_of<BN, CLUSTER>(index, M, N);
        for (int t = 0; t < steps; ++t, ++step) {
          const unsigned to = step % PIPE;
          // Nobody in the cluster may still read what lies there. The first time round nobody does:
          // the phase before the first, of parity 1, counts as complete.
          ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
          ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof(Tiles));
          const int k0 = (backwards ? steps - 1 - t : t) * BK;
          ptx::tma_load(s.tiles[to].A, &map_A, k0, tile.m0, &s.full[to]);
          for (int j = 0; j < BN / BOX; ++j) {
            if constexpr (CLUSTER == 1) {  // multicast to itself alone takes 10% longer
              ptx::tma_load(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, k0, &s.full[to]);
            } else {  // its share of the rows of each box, for the whole cluster
              const int k = blockIdx.x % CLUSTER * (BK / CLUSTER);
              ptx::tma_load_multicast(s.tiles[to].B[j][k], &map_B, tile.n0 + j * BOX, k0 + k,
                                      &s.full[to], (1 << CLUSTER) - 1);
            }
          }
        }
      }
    }
  } else {  // the consumers
    ptx::setmaxnreg_inc<232>();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int group_m = threadIdx.x / WARPGROUP * MMA_M;
    // The buffer of a step goes back to the producers of the whole cluster.
    const auto release = [&](unsigned step) {
      if (threadIdx.x % WARPGROUP < CLUSTER)
        ptx::mbarrier_arrive_cluster(&s.empty[step % PIPE], threadIdx.x % WARPGROUP);
    };
    for (int index = blockIdx.x / CLUSTER; index < tiles; index += gridDim.x / CLUSTER) {
      const Tile tile = tile_of<BN, CLUSTER>(index, M, N);
      float acc[BN / 2];
#pragma unroll 1
      for (int t = 0; t < steps; ++t, ++step) {
        // Phase step / PIPE is over when all of the tile has landed.
        ptx::mbarrier_wait_parity(&s.full[step % PIPE], step / PIPE % 2);
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
        if (lane == 0) ptx::bulk_wait_group_read<STAGED - 1>();
        __syncwarp();  // no lane writes before lane 0, who sent it, has waited
#pragma unroll
        for (int col = 0; col < BOX; col += 16) {
          const float* const a = &acc[(j * BOX + col) / 2];
          const uint32_t block[4] = {as_halves(a[0], a[1]), as_halves(a[2], a[3]),
                                     as_halves(a[4], a[5]), as_halves(a[6], a[7])};
          ptx::stmatrix_x4(&staged[lane % 16][swizzle(lane % 16, col + lane / 16 * 8)], block);
        }
        ptx::fence_proxy_async();  // TMA sees what this lane has written
        __syncwarp();              // and all lanes have
        const int m = tile.m0 + warp * 16, n = tile.n0 + j * BOX;
        if (n + BOX <= N || N % 8 == 0) {
          if (lane == 0) {
            ptx::tma_store(&map_C, n, m, staged);
            ptx::bulk_commit_group();
          }
        } else {  // TMA would write past the end of a row
          for (int row = 0; row < min(16, M - m); ++row)
            for (int col = lane; col < min(BOX, N - n); col += 32)
              C[(m + row) * ldc + n + col] = staged[row][swizzle(row, col)];
        }
      }
    }
    if (lane == 0) ptx::bulk_wait_group_read<0>();  // the last boxes are still read
    // No block may leave before the others have sent it their last arrival.
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
}

// Throws CudaError where there is no TMA.
template <int BN, int CLUSTER>
void gemm_columns(const Gemm<half, half>& p, int waves) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  if (p.K == 0) {  // a tensor map has no place for an empty matrix
    LADDER_CUDA_CHECK(
        cudaMemset2DAsync(p.C, p.ldc * sizeof(half), 0, p.N * sizeof(half), p.M, p.stream));
    return;
  }
  // No more blocks than it takes to be done in as many waves: power that an idle multiprocessor
  // saves is the others' clock.
  const int tiles = ceil_div(p.M, CLUSTER * BM) * ceil_div(p.N, BN);
  launch_clusters(CLUSTER, gemm_kernel<BN, CLUSTER>, dim3(ceil_div(tiles, waves) * CLUSTER),
                  dim3(THREADS), sizeof(Shared<BN>), p.stream, p.M, p.N, p.K,
                  ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
                  ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK / CLUSTER),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, 16), p.C, p.ldc);
}

// Takes the width of tile that is done first.
template <int CLUSTER>
void gemm_clusters(const Gemm<half, half>& p) {
  struct Width {
    int columns;
    int64_t ns;  // what a step along K takes (H200)
    void (*gemm)(const Gemm<half, half>&, int waves);
  };
  const Width widths[] = {{256, 675, gemm_columns<256, CLUSTER>},
                          {192, 560, gemm_columns<192, CLUSTER>},
                          {128, 400, gemm_columns<128, CLUSTER>},
                          {64, 300, gemm_columns<64, CLUSTER>}};
  const int clusters = device_attribute(cudaDevAttrMultiProcessorCount) / CLUSTER;
  const auto waves = [&](const Width& width) {
    return ceil_div(ceil_div(p.M, CLUSTER * BM) * ceil_div(p.N, width.columns), clusters);
  };
  const Width* const first = std::min_element(
      std::begin(widths), std::end(widths),
      [&](const Width& a, const Width& b) { return waves(a) * a.ns < waves(b) * b.ns; });
  first->gemm(p, waves(*first));
}

inline void gemm(const Gemm<half, half>& p) {
  // Where rows of B begin off the lines of 128 bytes, 64 halves, fewer requests of neighbours are
  // merged, and pairs of blocks that share B are up to 30% faster; but not with few rows (H200).
  if (p.ldb % 64 == 0 || p.M <= 4 * BM)
    gemm_clusters<1>(p);
  else
    gemm_clusters<2>(p);
}

}  // namespace ladder::persistent
