#pragma once
// 13c stream_k: C[M,N] = A[M,K] * B[K,N], row-major, fp16 or bf16, fp32 accumulate.
// Idea    tiles that do not fill a last wave are divided along K, as in 05c, with large tiles and
// in
//         one kernel: all clusters get as many steps, even if they are the end of one tile and the
//         beginning of the next. Who has a tile's end adds the sums of the others and stores C.
// vs 13   a walk of parts of tiles in place of the loop over tiles; sums that go to the workspace,
//         and a word for each warpgroup that says they are there.
// Limit   as in 13, to the end on all multiprocessors; and the sums' way through L2.
#include <algorithm>
#include <atomic>
#include <random>

#include "13_fit_the_waves.cuh"
#include "ptx/signal.cuh"

namespace ladder::stream_k {

using namespace fit_the_waves;

// Of a tile the steps `first` to `last` - 1.
struct Part {
  int tile, first, last;
};

// Tiles 0 to whole - 1 are done as in 13. All steps of the `divided` tiles after them, in a row,
// are cut into as many ranges as there are clusters.
struct Division {
  int whole, divided, steps;  // steps: of a tile

  // Where the range of a cluster begins, in steps from the first divided tile.
  __host__ __device__ int64_t begin(int cluster, int clusters) const {
    return static_cast<int64_t>(divided) * steps * cluster / clusters;
  }
};

// The parts of one cluster, one after the other. Of its range the last first: a tile's end comes
// after all that has no end, so that its other parts, of clusters before this one, are mostly there
// when they are asked for.
struct Walk {
  Division all;
  int cluster, clusters;
  int tile = 0;                // of the whole ones, the next
  int64_t begin = 0, end = 0;  // of the range, what is left

  __device__ __forceinline__ Walk(const Division& all, int cluster, int clusters)
      : all(all),
        cluster(cluster),
        clusters(clusters),
        tile(cluster),
        begin(all.begin(cluster, clusters)),
        end(all.begin(cluster + 1, clusters)) {}

  __device__ __forceinline__ bool next(Part& part) {
    if (tile < all.whole) {
      part = {tile, 0, all.steps};
      tile += clusters;
      return true;
    }
    if (begin == end) return false;
    const int64_t number = (end - 1) / all.steps, start = number * all.steps;
    part = {all.whole + static_cast<int>(number), static_cast<int>(max(begin - start, int64_t{0})),
            static_cast<int>(end - start)};
    end = start + part.first;
    return true;
  }
};

// What the blocks have in the workspace: of each warpgroup that multiplies a word, which is the
// launch's token while its sums are there; and the sums.
constexpr int WORD_BYTES = 128;  // of a block: a line of its own
template <int BM, int BN>
struct Parts {
  static constexpr int QUADS = BM * BN / 4 / (CONSUMERS * WARPGROUP);  // of a thread
  using Sums = float4[QUADS][CONSUMERS * WARPGROUP];

  char* workspace;
  uint64_t token;

  __host__ __device__ static constexpr uint64_t bytes(int blocks) {
    return static_cast<uint64_t>(blocks) * (WORD_BYTES + sizeof(Sums));
  }
  __device__ __forceinline__ uint64_t* word(int block, int group) const {
    return reinterpret_cast<uint64_t*>(workspace + int64_t{block} * WORD_BYTES) + group;
  }
  __device__ __forceinline__ float4 (*sums(int block) const)[CONSUMERS * WARPGROUP] {
    return reinterpret_cast<Sums*>(workspace + int64_t{gridDim.x} * WORD_BYTES)[block];
  }

  // This warpgroup's sums, for who has the tile's end.
  template <int BOXES, int SUMS>
  __device__ __forceinline__ void leave(const float (&acc)[BOXES][SUMS]) const {
    const int group = warpgroup_of_block();
    auto* const to = sums(blockIdx.x);
#pragma unroll
    for (int w = 0; w < BOXES; ++w)
#pragma unroll
      for (int i = 0; i < SUMS; i += 4)
        to[(w * SUMS + i) / 4][threadIdx.x] =
            make_float4(acc[w][i], acc[w][i + 1], acc[w][i + 2], acc[w][i + 3]);
    __threadfence();
    ptx::named_barrier_sync(1 + group, WARPGROUP);
    if (threadIdx.x % WARPGROUP == 0) ptx::store_release(word(blockIdx.x, group), token);
  }

  // Adds what `block` has left, and frees its word for the next launch.
  template <int BOXES, int SUMS>
  __device__ __forceinline__ void add(float (&acc)[BOXES][SUMS], int block) const {
    const int group = warpgroup_of_block();
    uint64_t* const its = word(block, group);
    if (threadIdx.x % WARPGROUP == 0) {
      while (ptx::load_acquire(its) != token) {
      }
      *its = 0;
    }
    ptx::named_barrier_sync(1 + group, WARPGROUP);
    const auto* const from = sums(block);
#pragma unroll
    for (int w = 0; w < BOXES; ++w)
#pragma unroll
      for (int i = 0; i < SUMS; i += 4) {
        const float4 quad = from[(w * SUMS + i) / 4][threadIdx.x];
        acc[w][i] += quad.x, acc[w][i + 1] += quad.y;
        acc[w][i + 2] += quad.z, acc[w][i + 3] += quad.w;
      }
  }
};

template <class T, int BM, int BN, Pairs PAIRS, Major MAJOR_A, Major MAJOR_B, class Finish>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, Division division, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C,
                const __grid_constant__ CUtensorMap map_C_last, T* C, int64_t ldc,
                Parts<BM, BN> parts, const Finish finish) {
  using Shared = fit_the_waves::Shared<T, BM, BN, MAJOR_A, MAJOR_B>;
  constexpr int CLUSTER = cluster_of(PAIRS), PIPE = Shared::PIPE;
  Shared& s = dynamic_shared<Shared>();
  const auto tile_at = [&](int index) { return tile_of_block<BM, BN, PAIRS>(index, M, N); };
  const bool is_producer = warp_of_block() == CONSUMERS * WARPGROUP / 32;
  const int cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;

  ptx::let_next_grid_start();    // without Gemm::starts_early these two do nothing
  ptx::wait_for_grids_before();  // from here on, matrices are read and written
  if (is_producer) start(s, map_A, map_B, {}, 0);
  prepare_others<CLUSTER>(s, CONSUMERS);

  Walk walk(division, cluster, clusters);
  Part part;
  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (!is_producer) return;
    while (walk.next(part))
      produce<PAIRS>(s, map_A, map_B, tile_at(part.tile), part.first, part.last, false, step);
    // No block may leave before the others have sent it their last arrivals.
    if (CLUSTER > 1)
      for (int i = 0; i < PIPE; ++i, ++step)
        ptx::mbarrier_wait_parity(&s.empty[step % PIPE], (step / PIPE + 1) % 2);
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    constexpr int BOXES = BN / BOX / CONSUMERS;
    const int first_box = warpgroup_of_block() * BOXES;
    const int warp = threadIdx.x % WARPGROUP / 32;
    const PiecesOfC<T> to{map_C, map_C_last, C, ldc, M, N};
    unsigned piece = 0;
    while (walk.next(part)) {
      float acc[BOXES][BM / 2];
      const unsigned last = multiply<CLUSTER>(s, part.last - part.first, first_box, acc, step);
      ptx::wgmma_wait_group<0>();
      release<CLUSTER>(s, last);
      if (part.last < division.steps) {
        parts.leave(acc);
        continue;
      }
      // The parts before are of the clusters before, down to the one that has the tile's first
      // step.
      if (part.first > 0) {
        const int64_t tile_begin =
            static_cast<int64_t>(part.tile - division.whole) * division.steps;
        int other = cluster;
        do parts.add(acc, blockIdx.x - (cluster - --other) * CLUSTER);
        while (division.begin(other, clusters) > tile_begin);
      }
      const Tile tile = tile_at(part.tile);
      const int n0 = tile.n0 + first_box * BOX;
      typename Finish::Columns columns[BOXES];
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
        columns[w] = finish.columns(tile.m0, n0 + w * BOX + warp * 16, N, threadIdx.x % 32);
      store_transposed(s.staged, acc, columns, finish, to, tile.m0, n0, piece);
    }
    if (threadIdx.x % WARPGROUP == 0) ptx::bulk_wait_group_read<0>();  // the last are still read
  }
}

#ifndef __CUDACC_RTC__

// Clusters that there are, and how the steps are divided among them. Where the tiles that are left
// fill less than half of a wave, so do those of the wave before: then a tile has two or three
// parts, and not many.
inline int clusters_of(int tiles, int steps, Pairs pairs) {
  const int64_t all = static_cast<int64_t>(tiles) * steps;
  return static_cast<int>(std::min<int64_t>(clusters_at_once(cluster_of(pairs)), all));
}
inline Division divided(int tiles, int steps, int clusters) {
  int left = tiles % clusters;
  if (left > 0 && 2 * left < clusters && tiles > clusters) left += clusters;
  return {tiles - left, left, steps};
}

// A word in the workspace says nothing before this launch, of whose contents nobody knows anything:
// no two launches of all programs have the same token, but replays of a graph, between which the
// kernel has freed the words.
inline uint64_t new_token() {
  static std::atomic<uint64_t> next{std::random_device()() * 0x100000001ull | 1};
  return next.fetch_add(0x9E3779B97F4A7C15u);
}

template <class T, int BM, int BN, Pairs PAIRS>
uint64_t workspace_bytes_of(const Gemm<T, T>& p) {
  const int all = tiles(p, Tiling{BM, BN, PAIRS}), steps = ceil_div(p.K, BK);
  return Parts<BM, BN>::bytes(clusters_of(all, steps, PAIRS) * cluster_of(PAIRS));
}

// Throws CudaError where there is no TMA.
template <class T, int BM, int BN, Pairs PAIRS, Major MAJOR_A = Major::K, Major MAJOR_B = Major::MN,
          class Finish>
void launch_and_finish(const Gemm<T, T>& p, const Finish& finish) {
  using Shared = fit_the_waves::Shared<T, BM, BN, MAJOR_A, MAJOR_B>;
  constexpr int CLUSTER = cluster_of(PAIRS);
  const int all = tiles(p, Tiling{BM, BN, PAIRS}), steps = ceil_div(p.K, BK);
  const int clusters = clusters_of(all, steps, PAIRS);
  require_workspace(p, Parts<BM, BN>::bytes(clusters * CLUSTER));
  launch_clusters(CLUSTER, gemm_kernel<T, BM, BN, PAIRS, MAJOR_A, MAJOR_B, Finish>,
                  dim3(clusters * CLUSTER), dim3(THREADS), sizeof(Shared),
                  {p.stream, p.starts_early}, p.M, p.N, p.K, divided(all, steps, clusters),
                  Operand<T, BM, MAJOR_A>::map(p.A, p.M, p.K, p.lda),
                  Operand<T, BN, MAJOR_B>::map(p.B, p.N, p.K, p.ldb),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared::PIECE),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared::LAST_PIECE), p.C, p.ldc,
                  Parts<BM, BN>{static_cast<char*>(p.workspace), new_token()}, finish);
}

#endif  // __CUDACC_RTC__

}  // namespace ladder::stream_k
