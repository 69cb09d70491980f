#pragma once
// Variants of 14, to be compared with it: other ways for the sums of a tile's two blocks to come
// together, and two that send them, but divide K or prepare barriers otherwise.
#include "14_few_rows.cuh"

namespace ladder::partial_sums {

using namespace few_rows;

constexpr int BM = 16, BN = 64, SPLIT = 2;
using Shared = few_rows::Shared<half, BM, BN, SPLIT>;
constexpr int CONSUMER_THREADS = Shared::CONSUMERS * WARPGROUP;
constexpr int UNITS = Shared::UNITS;

enum class Variant {
  WORKSPACE,       // through global memory, and another kernel adds them
  FETCHED,         // the block that adds them loads them from the other, between two barriers
  K_IN_A_ROW,      // each block has a piece of K in a row
  BARRIERS_FIRST,  // all barriers are prepared before the first copy is started
};

__device__ __forceinline__ Steps steps_in_a_row(int rank, int K) {
  const int all = ceil_div(K, BK), each = ceil_div(all, SPLIT), first = min(all, rank * each);
  return {first, 1, min(each, all - first)};
}

__device__ __forceinline__ void fill_behind_barriers(Shared& s, const CUtensorMap& map_A,
                                                     const CUtensorMap& map_B, Tile tile,
                                                     Steps steps, int buffers) {
  if (!ptx::elect_one()) return;
  for (int t = 0; t < buffers; ++t) ptx::mbarrier_init(&s.full[t], 1);
  ptx::fence_mbarrier_init();
  for (int t = 0; t < min(buffers, steps.count); ++t) load(s, map_A, map_B, tile, steps, t, t);
}

template <Variant VARIANT>
__global__ void __launch_bounds__(Shared::THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, half* C, int64_t ldc, int buffers,
                float4* workspace) {
  constexpr bool SENT = VARIANT == Variant::K_IN_A_ROW || VARIANT == Variant::BARRIERS_FIRST;
  constexpr bool CLUSTER = VARIANT != Variant::WORKSPACE;
  Shared& s = dynamic_shared<Shared>();
  const int rank = blockIdx.x % SPLIT;
  const int tile_n = tile_column();
  const Tile tile = {static_cast<int>(blockIdx.x / SPLIT) * BM, tile_n * BN};
  if (tile_n >= ceil_div(N, BN)) return;
  const Steps steps =
      VARIANT == Variant::K_IN_A_ROW ? steps_in_a_row(rank, K) : steps_of<SPLIT>(rank, K);
  const bool is_producer = warp_of_block() == CONSUMER_THREADS / 32;

  if (is_producer) {
    if (VARIANT == Variant::BARRIERS_FIRST)
      fill_behind_barriers(s, map_A, map_B, tile, steps, buffers);
    else
      fill(s, map_A, map_B, tile, steps, buffers);
  }
  if (threadIdx.x == 0) {
    for (int i = 0; i < buffers; ++i) ptx::mbarrier_init(&s.empty[i], Shared::CONSUMERS);
    if (SENT) {
      ptx::mbarrier_init(&s.received, 1);
      ptx::fence_mbarrier_init();
      ptx::mbarrier_arrive_expect_tx(&s.received, sizeof s.sums()[0]);
    }
  }
  __syncthreads();
  if (CLUSTER) ptx::cluster_arrive_relaxed();
  if (is_producer) {
    refill(s, map_A, map_B, tile, steps, Ring{static_cast<unsigned>(buffers)});
    if (CLUSTER) ptx::cluster_wait();
    return;
  }
  float acc[BM / 2] = {};
  consume(s, steps, Ring{static_cast<unsigned>(buffers)}, acc);

  const auto store = [&](float4 sum) {  // unit number `rank`, which this block owns
    store_unit(sum, C, ldc, tile.m0 + rank * UNIT, tile.n0 + threadIdx.x / 32 * 16, M, N);
  };
  if constexpr (SENT) {
    ptx::cluster_wait();
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit)
      ptx::store_async(&s.sums()[0][rank][threadIdx.x], part_of(acc, unit), &s.received, unit);
    ptx::mbarrier_wait_parity_cluster(&s.received, 0);
    store(added<SPLIT>([&](int from) { return s.sums()[0][from][threadIdx.x]; }));
  } else if constexpr (VARIANT == Variant::FETCHED) {
    ptx::cluster_wait();
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit) s.sums()[0][unit][threadIdx.x] = part_of(acc, unit);
    ptx::cluster_sync();  // all sums are there
    float4* const sum = &s.sums()[0][rank][threadIdx.x];
    store(added<SPLIT>([&](int from) { return *ptx::shared_of_block(sum, from); }));
    ptx::cluster_sync();  // no block may leave while the others read from it
  } else {
    const int64_t index = int64_t{tile_n} * gridDim.x + blockIdx.x;
    float4* const sums = &workspace[index * UNITS * CONSUMER_THREADS];
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit)
      sums[unit * CONSUMER_THREADS + threadIdx.x] = part_of(acc, unit);
  }
}

// Adds what the blocks of a tile have left in the workspace. A block has a unit of a tile.
static __global__ void __launch_bounds__(CONSUMER_THREADS)
    add_kernel(int M, int N, half* C, int64_t ldc, const float4* workspace) {
  const int tile_m = blockIdx.x / UNITS, unit = blockIdx.x % UNITS;
  const int tile_n = tile_column();
  if (tile_n >= ceil_div(N, BN)) return;
  const int64_t index = int64_t{tile_n} * (gridDim.x / UNITS) + tile_m;
  const float4* const sums =
      &workspace[(index * SPLIT * UNITS + unit) * CONSUMER_THREADS + threadIdx.x];
  store_unit(added<SPLIT>([&](int from) { return sums[from * UNITS * CONSUMER_THREADS]; }), C, ldc,
             tile_m * BM + unit * UNIT, tile_n * BN + threadIdx.x / 32 * 16, M, N);
}

// What Gemm::workspace has to have with Variant::WORKSPACE: each block's part of a tile.
inline uint64_t workspace_bytes(const Gemm<half, half>& p) {
  const int64_t tiles = int64_t{ceil_div(p.M, BM)} * ceil_div(p.N, BN);
  return static_cast<uint64_t>(tiles) * SPLIT * BM * BN * sizeof(float);
}

// Throws CudaError where there is no TMA.
template <Variant VARIANT>
void gemm(const Gemm<half, half>& p) {
  if (done_without_kernel(p)) return;
  constexpr bool IN_WORKSPACE = VARIANT == Variant::WORKSPACE;
  if (IN_WORKSPACE) require_workspace(p, workspace_bytes(p));
  const int tiles_m = ceil_div(p.M, BM), tiles_n = ceil_div(p.N, BN);
  const int buffers = buffers_of<Shared>(1);
  float4* const workspace = static_cast<float4*>(p.workspace);
  launch_clusters(
      IN_WORKSPACE ? 1 : SPLIT, gemm_kernel<VARIANT>, tile_grid(tiles_m * SPLIT, tiles_n),
      dim3(Shared::THREADS), Shared::bytes(buffers), p.stream, p.M, p.N, p.K,
      Shared::Tiles::OperandA::map(p.A, p.M, p.K, p.lda),
      Shared::Tiles::OperandB::map(p.B, p.N, p.K, p.ldb), p.C, p.ldc, buffers, workspace);
  if constexpr (IN_WORKSPACE)
    launch(add_kernel, tile_grid(tiles_m * UNITS, tiles_n), dim3(CONSUMER_THREADS), 0, p.stream,
           p.M, p.N, p.C, p.ldc, workspace);
}

}  // namespace ladder::partial_sums
