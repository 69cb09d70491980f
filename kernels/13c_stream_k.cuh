#pragma once
// 13c stream_k: C[M,N] = A[M,K] * B[K,N], row-major, fp16 or bf16, fp32 accumulate.
// Idea    tiles that do not fill a last wave are divided along K, as in 05c, but in one kernel: all
//         clusters get as many steps, even if they are the end of one tile and the beginning of the
//         next. Who has a tile's end adds the sums of the others and stores C.
// vs 13   a walk of parts of tiles in place of the loop over tiles; sums that go to the workspace,
//         and a word for each warpgroup that says they are there (parts/sums_left.cuh). Which tile,
//         and whether it is divided, stream_k_choice.cuh says.
// Limit   as in 13, to the end on all multiprocessors; and the sums' way through L2.
#include "13_fit_the_waves.cuh"
#include "parts/division.cuh"
#include "parts/sums_left.cuh"

namespace ladder::stream_k {

using namespace fit_the_waves;

// Of a tile the steps `first` to `last` - 1.
struct Part {
  int tile, first, last;
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

template <int BM, int BN>
using Parts = SumsLeft<BM * BN / (CONSUMERS * WARPGROUP), CONSUMERS * WARPGROUP>;

template <class T, int BM, int BN, Pairs PAIRS, Major MAJOR_A, Major MAJOR_B, class Finish>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, Division division, const __grid_constant__ CUtensorMap map_A,
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

// Throws CudaError where there is no TMA.
template <class T, int BM, int BN, Pairs PAIRS, Major MAJOR_A = Major::K, Major MAJOR_B = Major::MN,
          class Finish>
void launch_and_finish(const Gemm<T, T>& p, const Finish& finish) {
  using Shared = fit_the_waves::Shared<T, BM, BN, MAJOR_A, MAJOR_B>;
  constexpr int CLUSTER = cluster_of(PAIRS);
  const int all = tiles(p, Tiling{BM, BN, PAIRS}), steps = ceil_div(p.K, BK);
  const int clusters = clusters_of(all, steps, CLUSTER);
  require_workspace(p, Parts<BM, BN>::bytes(clusters * CLUSTER));
  launch_clusters(CLUSTER, gemm_kernel<T, BM, BN, PAIRS, MAJOR_A, MAJOR_B, Finish>,
                  dim3(clusters * CLUSTER), dim3(THREADS), sizeof(Shared),
                  {p.stream, p.starts_early}, p.M, p.N, divided(all, steps, clusters),
                  Operand<T, BM, MAJOR_A>::map(p.A, p.M, p.K, p.lda),
                  Operand<T, BN, MAJOR_B>::map(p.B, p.N, p.K, p.ldb),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared::PIECE),
                  ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared::LAST_PIECE), p.C, p.ldc,
                  Parts<BM, BN>{static_cast<char*>(p.workspace), new_token()}, finish);
}

#endif  // __CUDACC_RTC__

}  // namespace ladder::stream_k
