#pragma once
// 12c waiting: 12's first product in one launch. C[M,N] = A[M,K] * B[K,N], of A's rows this rank's
// are here and the others' on their way.
// Idea    a persistent kernel need not be told that all its data is there before it starts: its
//         producer asks before it reads. Own rows come first, and by the time they are multiplied
//         most of the others' are here. These come in pieces along K, so that every tile of C can
//         begin with the first.
// vs 12b  one launch with one last wave: 11b with a matrix of A and of C for each rank, its tiles
//         in the order in which their rows come, and a wait in the producer's loop along K.
// Step    the kernel is 11b's but for about thirty lines; the others are the host's half: pieces,
//         how many, and a matrix for each rank.
// Limit   the kernel occupies the multiprocessors it waits on: all ranks' kernels have to run at
//         the same time, and nothing that they wait for may need a multiprocessor.
#include "11b_overlapped_stores.cuh"
#include "12b_copy_beside.cuh"
#include "parts/rank_order.cuh"
#include "ptx/system.cuh"

namespace ladder::waiting {

using overlapped_stores::as_halves, overlapped_stores::BK, overlapped_stores::BM,
    overlapped_stores::BN, overlapped_stores::BOX, overlapped_stores::consume,
    overlapped_stores::CONSUMER_REGISTERS, overlapped_stores::CONSUMERS, overlapped_stores::GROUP,
    overlapped_stores::PIPE, overlapped_stores::PRODUCER_REGISTERS, overlapped_stores::Shared,
    overlapped_stores::THREADS, overlapped_stores::WARPGROUP;

// A matrix for each rank's rows.
struct Maps {
  CUtensorMap of[MAX_RANKS];
};

// Waits until `count` units have arrived since *flag was `before`. Returns how many have. What the
// thread orders of TMA afterwards sees them.
__device__ __forceinline__ int wait_for(const uint32_t* flag, uint32_t before, int count) {
  int arrived;
  do {
    arrived = static_cast<int>(ptx::load_acquire_system(flag) - before);
  } while (arrived < count);
  ptx::fence_proxy_async_all();
  return arrived;
}

// The producer, as 11b's. `here` tiles along K of these rows of A are known to have arrived.
__device__ __forceinline__ void produce(Shared& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, Tile tile, int tiles,
                                        bool backwards, unsigned& step, int& here,
                                        const uint32_t* arrived, uint32_t before) {
  for (int t = 0; t < tiles; ++t, ++step) {
    const unsigned to = step % PIPE;
    ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    const int k = backwards ? tiles - 1 - t : t;
    if (here <= k) here = wait_for(arrived, before, k + 1);
    ptx::tma_load(s.tiles[to].A, &map_A, k * BK, tile.m0, &s.full[to]);
    for (int j = 0; j < BN / BOX; ++j)
      ptx::tma_load(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, k * BK, &s.full[to]);
  }
}

static __global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ Maps maps_A,
                const __grid_constant__ CUtensorMap map_B, const __grid_constant__ Maps maps_C,
                half* C, int64_t ldc, Ranks ranks, const uint32_t* arrived, uint32_t before) {
  Shared& s = dynamic_shared<Shared>();
  const int tiles = ceil_div(K, BK), tiles_of_C = rank_tiles<BM, BN>(M, N, ranks.count);

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
      bool backwards = false;
      int rank = ranks.own, here = tiles;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const RankTile tile = rank_tile<BM, BN>(index, M, N, ranks.count, ranks.own, GROUP);
        if (tile.rank != rank) rank = tile.rank, here = 0;
        if (here < tiles) backwards = false;  // what still comes, comes in the order of K
        produce(s, maps_A.of[rank], map_B, {tile.m0, tile.n0}, tiles, backwards, step, here,
                &arrived[rank], before);
        backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const RankTile tile = rank_tile<BM, BN>(index, M, N, ranks.count, ranks.own, GROUP);
      const Share rows = share(M, ranks.count, tile.rank);
      float acc[BN / 2];
      consume(s, tiles, acc, step);

      // To C by way of shared memory, each warp its 16 rows, box by box.
#pragma unroll
      for (int j = 0; j < BN / BOX; ++j) {
        constexpr int STAGED = 2;
        half(*const staged)[BOX] = s.staged[warp][j % STAGED];
        if (lane == 0) ptx::bulk_wait_group_read<STAGED - 1>();
        __syncwarp();
#pragma unroll
        for (int col = 0; col < BOX; col += 16) {
          const float* const a = &acc[(j * BOX + col) / 2];
          const uint32_t block[4] = {as_halves(a[0], a[1]), as_halves(a[2], a[3]),
                                     as_halves(a[4], a[5]), as_halves(a[6], a[7])};
          ptx::stmatrix_x4(&staged[lane % 16][swizzled(lane % 16, col + lane / 16 * 8)], block);
        }
        ptx::fence_proxy_async();
        __syncwarp();
        const int m = tile.m0 + warp * 16, n = tile.n0 + j * BOX;
        if (n + BOX <= N || N % 8 == 0) {
          if (lane == 0) ptx::tma_store(&maps_C.of[tile.rank], n, m, staged);
        } else {  // TMA would write past the end of a row
          for (int row = 0; row < min(16, rows.count - m); ++row)
            for (int col = lane; col < min(BOX, N - n); col += 32)
              C[(rows.first + m + row) * ldc + n + col] = staged[row][swizzled(row, col)];
        }
        if (lane == 0) ptx::bulk_commit_group();  // also an empty group: the wait counts them
      }
    }
    if (lane == 0) ptx::bulk_wait_group_read<0>();  // the last boxes are still read
  }
}

// Sends this rank's rows as 12b does, in pieces along K: each brings half of what is left, but for
// the last, which brings the rest. What comes last is short, because nothing hides its
// multiplication. `arrived` counts tiles along K.
inline void send_pieces(const Gemm<half, half>& p, const Link& link, uint32_t counted, int pieces) {
  const Ranks ranks = link.ranks;
  const int tiles = ceil_div(p.K, BK);
  for (int i = ranks.count - 1; i > 0; --i) {
    const int to = ranks.after(i);
    half* const there = rows_of(link.buffer(to), p.M, p.lda, ranks.count, ranks.own);
    for (int done = 0, left = pieces; done < tiles; --left) {
      const int k0 = done * BK;
      done += left == 1 ? tiles - done : ceil_div(tiles - done, 2);
      send(link, to, there + k0, p.A + k0, p.lda, std::min(done * BK, p.K) - k0,
           share(p.M, ranks.count, ranks.own).count, counted + done);
    }
  }
}

// As many blocks as it takes to be done in as few waves, of those that may wait at the same time.
inline dim3 grid(int tiles_of_C, const Link& link) {
  return dim3(ceil_div(tiles_of_C, ceil_div(tiles_of_C, link.blocks)));
}

// Where a rank's rows arrive before the own ones are multiplied, they come in one piece: a copy of
// whole rows is the fastest. Else in so many that the last one, whose multiplication nothing hides,
// takes that long, but no less than two copies cost, at 5 us each.
inline int choose_pieces(const Gemm<half, half>& p, const Link& link) {
  constexpr double BYTES_PER_NS = 340, NS_PER_TILE = 675, SHORTEST_NS = 10000;  // two H200
  const Share rows = share(p.M, link.ranks.count, 0);
  const double arrives = static_cast<double>(rows.count) * p.K * sizeof(half) / BYTES_PER_NS;
  const int tiles_of_C = ceil_div(rows.count, BM) * ceil_div(p.N, BN);
  const double takes = NS_PER_TILE * ceil_div(p.K, BK) * ceil_div(tiles_of_C, link.blocks);
  int pieces = 1;
  if (arrives > takes)
    for (double last = takes; last / 2 >= SHORTEST_NS; last /= 2) ++pieces;
  return pieces;
}

// As 12's. A peer's rows of A come in so many `pieces`.
inline const half* all_gather_gemm(const Gemm<half, half>& p, Link& link, int pieces) {
  require_valid(p);
  require_aligned_rows(p);
  const Ranks ranks = link.ranks;
  const uint32_t counted = begin_call(link, p.stream, ceil_div(p.K, BK));
  send_pieces(p, link, counted, pieces);
  tell_begun(link);
  if (!done_without_kernel(p)) {
    Maps A{}, C{};
    for (int rank = 0; rank < ranks.count; ++rank) {
      const Share rows = share(p.M, ranks.count, rank);
      if (rows.count == 0) continue;
      const half* const came = rows_of(link.buffer(ranks.own), p.M, p.lda, ranks.count, rank);
      A.of[rank] = ptx::tensor_map(rank == ranks.own ? p.A : came, rows.count, p.K, p.lda, BM);
      C.of[rank] = ptx::tensor_map(p.C + rows.first * p.ldc, rows.count, p.N, p.ldc, 16);
    }
    launch(gemm_kernel, grid(rank_tiles<BM, BN>(p.M, p.N, ranks.count), link), dim3(THREADS),
           sizeof(Shared), p.stream, p.M, p.N, p.K, A, ptx::tensor_map(p.B, p.K, p.N, p.ldb, BK), C,
           p.C, p.ldc, ranks, link.own_flags()->arrived, counted);
  }
  end_call(link, p.stream);
  return p.C;
}
inline const half* all_gather_gemm(const Gemm<half, half>& p, Link& link) {
  return all_gather_gemm(p, link, choose_pieces(p, link));
}

}  // namespace ladder::waiting
