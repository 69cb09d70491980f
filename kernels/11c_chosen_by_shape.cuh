#pragma once
// 11c chosen_by_shape: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    no kernel is the best for every shape: of eight the launcher takes the one that is done
//         first, and of the multiprocessors as many as it needs.
// vs 11b  the kernel for four widths of tile and with or without 10b's clusters; a table of these
//         configurations with what each takes for a step, and the choice; no more blocks than are
//         done in as many waves.
// Limit   the clock: 89% of the FLOPs that all tensor cores can do at 1.55 GHz; those it uses are
//         busy 95% of the time (H200, 4096^3).
#include <algorithm>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_halves.cuh"
#include "ptx/cluster.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::chosen_by_shape {

constexpr int WARPGROUP = 128;
constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int MMA_M = 64, MMA_K = 16;  // and as many columns as the tile has
constexpr int GROUP = 16;
constexpr int BM = 128, BK = 64;
constexpr int BOX = 64;  // columns of a box: 128 bytes
static_assert(BM == CONSUMERS * MMA_M);

// Registers a thread, by role. At the launch all have as many, 168: the largest multiple of 8 with
// which three warpgroups share a multiprocessor's 64 K.
constexpr int LAUNCH_REGISTERS = 64 * 1024 / THREADS / 8 * 8;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <=
              (CONSUMERS + 1) * LAUNCH_REGISTERS);

template <int BN, int CLUSTER>
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

// This block's tile, when its cluster is at tile `index`: the cluster's blocks have theirs one
// below another. A band has as many rows as before.
template <int BN, int CLUSTER>
__device__ __forceinline__ Tile tile_of_block(int index, int M, int N) {
  Tile tile = tile_of<CLUSTER * BM, BN, GROUP / CLUSTER>(index, M, N);
  tile.m0 += blockIdx.x % CLUSTER * BM;
  return tile;
}

// The producer, one thread: fills every buffer as soon as it is empty. `step` counts the tiles of
// operands since the start: they go to buffer step % PIPE, in its round step / PIPE.
template <int BN, int CLUSTER>
__device__ __forceinline__ void produce(Shared<BN, CLUSTER>& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, Tile tile, int tiles,
                                        bool backwards, unsigned& step) {
  constexpr int PIPE = Shared<BN, CLUSTER>::PIPE;
  for (int t = 0; t < tiles; ++t, ++step) {
    const unsigned to = step % PIPE;
    // Nobody in the cluster may still read what lies there. The first time round nobody does: the
    // phase before the first, of parity 1, counts as complete.
    ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    const int k0 = (backwards ? tiles - 1 - t : t) * BK;
    ptx::tma_load(s.tiles[to].A, &map_A, k0, tile.m0, &s.full[to]);
    for (int j = 0; j < BN / BOX; ++j) {
      if constexpr (CLUSTER == 1) {  // multicast to itself alone takes 10% longer
        ptx::tma_load(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, k0, &s.full[to]);
      } else {  // its share of the rows of each box, for the whole cluster
        const int k = blockIdx.x % CLUSTER * (BK / CLUSTER);
        ptx::tma_load_multicast(s.tiles[to].B[j][k], &map_B, tile.n0 + j * BOX, k0 + k, &s.full[to],
                                (1 << CLUSTER) - 1);
      }
    }
  }
}

// A consumer, a warpgroup: multiplies its 64 rows of every tile as soon as it has landed.
template <int BN, int CLUSTER>
__device__ __forceinline__ void consume(Shared<BN, CLUSTER>& s, int tiles, float (&acc)[BN / 2],
                                        unsigned& step) {
  constexpr int PIPE = Shared<BN, CLUSTER>::PIPE;
  const int group_m = threadIdx.x / WARPGROUP * MMA_M;
  // The buffer of a tile goes back to the producers of the whole cluster.
  const auto release = [&](unsigned step) {
    if (threadIdx.x % WARPGROUP < CLUSTER)
      ptx::mbarrier_arrive_cluster(&s.empty[step % PIPE], threadIdx.x % WARPGROUP);
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

template <int BN, int CLUSTER>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, half* C, int64_t ldc) {
  Shared<BN, CLUSTER>& s = dynamic_shared<Shared<BN, CLUSTER>>();
  const int tiles = ceil_div(K, BK),
            tiles_of_C = ceil_div(M, CLUSTER * BM) * ceil_div(N, BN);  // of clusters

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CLUSTER * CONSUMERS);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  ptx::cluster_sync();

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) {
      // Every other tile of C from the end of K: it is mostly in the band of those before, and what
      // they have read last of the band's rows of A is still in L2.
      bool backwards = false;
      for (int index = blockIdx.x / CLUSTER; index < tiles_of_C; index += gridDim.x / CLUSTER) {
        const Tile tile = tile_of_block<BN, CLUSTER>(index, M, N);
        produce(s, map_A, map_B, tile, tiles, backwards, step);
        backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int index = blockIdx.x / CLUSTER; index < tiles_of_C; index += gridDim.x / CLUSTER) {
      const Tile tile = tile_of_block<BN, CLUSTER>(index, M, N);
      float acc[BN / 2];
      consume(s, tiles, acc, step);

      // To C by way of shared memory, each warp its 16 rows, box by box.
#pragma unroll
      for (int j = 0; j < BN / BOX; ++j) {
        // The box that was here before is on its way; of the others, one may still wait. The last
        // box of the tile before may have been here, too: at the first, none may.
        constexpr int STAGED = BN > BOX ? 2 : 1;
        half(*const staged)[BOX] = s.staged[warp][j % STAGED];
        if (lane == 0)
          j == 0 ? ptx::bulk_wait_group_read<0>() : ptx::bulk_wait_group_read<STAGED - 1>();
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
        if (n + BOX <= N || N % 8 == 0) {
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
    ptx::cluster_sync();  // no block may leave before the others have sent it their last arrival
  }
}

// Throws CudaError where there is no TMA.
template <int BN, int CLUSTER>
void launch_configuration(const Gemm<half, half>& p, int clusters) {
  launch_clusters(CLUSTER, gemm_kernel<BN, CLUSTER>, dim3(clusters * CLUSTER), dim3(THREADS),
                  sizeof(Shared<BN, CLUSTER>), p.stream, p.M, p.N, p.K,
                  ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
                  ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK / CLUSTER),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, 16), p.C, p.ldc);
}

// What the launcher chooses among.
struct Configuration {
  int BN, cluster;
  int64_t ns;  // what a step along K takes (H200)
  void (*launch)(const Gemm<half, half>&, int clusters);
};
template <int BN, int CLUSTER>
constexpr Configuration configuration(int64_t ns) {
  return {BN, CLUSTER, ns, launch_configuration<BN, CLUSTER>};
}
inline constexpr Configuration CONFIGURATIONS[] = {
    configuration<256, 1>(675), configuration<192, 1>(560), configuration<128, 1>(400),
    configuration<64, 1>(300),  configuration<256, 2>(675), configuration<192, 2>(560),
    configuration<128, 2>(400), configuration<64, 2>(300)};

// Of C, one a cluster.
inline int tiles(const Gemm<half, half>& p, const Configuration& c) {
  return ceil_div(p.M, c.cluster * BM) * ceil_div(p.N, c.BN);
}
// Clusters that fit at once.
inline int fitting(const Configuration& c) {
  return device_attribute(cudaDevAttrMultiProcessorCount) / c.cluster;
}
// Rounds of one tile for each of them.
inline int waves(const Gemm<half, half>& p, const Configuration& c) {
  return ceil_div(tiles(p, c), fitting(c));
}

inline void gemm_as(const Configuration& c, const Gemm<half, half>& p, bool all_blocks = false) {
  if (done_without_kernel(p)) return;
  // No more blocks than it takes to be done in as many waves: that is faster where some of the
  // multiprocessors idle (128 of 132; H200, 4096^3).
  c.launch(p, all_blocks ? std::min(tiles(p, c), fitting(c)) : ceil_div(tiles(p, c), waves(p, c)));
}

// A variant leaves out one part of the choice.
enum class LeftOut { NOTHING, WIDTHS, CLUSTERS, BLOCKS };

template <LeftOut LEFT_OUT>
void gemm_without(const Gemm<half, half>& p) {
  // Where rows of B begin off the lines of 128 bytes, 64 halves, fewer requests of neighbours are
  // merged, and pairs of blocks that share B are up to 30% faster; but not with few rows (H200).
  const bool pairs = LEFT_OUT != LeftOut::CLUSTERS && p.ldb % 64 != 0 && p.M > 4 * BM;
  const Configuration* first = nullptr;  // to be done
  for (const Configuration& c : CONFIGURATIONS)
    if (c.cluster == (pairs ? 2 : 1) && (LEFT_OUT != LeftOut::WIDTHS || c.BN == 256) &&
        (!first || waves(p, c) * c.ns < waves(p, *first) * first->ns))
      first = &c;
  gemm_as(*first, p, LEFT_OUT == LeftOut::BLOCKS);
}

inline void gemm(const Gemm<half, half>& p) {
  gemm_without<LeftOut::NOTHING>(p);
}

}  // namespace ladder::chosen_by_shape
