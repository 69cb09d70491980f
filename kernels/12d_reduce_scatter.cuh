#pragma once
// 12d reduce-scatter: 12's second product in one launch. Each rank has columns of A and rows of B;
// of the sum of all ranks' products it keeps its share of the rows.
// Idea    the epilogue sends. Rank r takes the rows of rank r + 1 first and its own last, so that a
//         tile of rank s is computed by s - 1 first, by s last, and each adds to the sum that it
//         gets from the one after it: a ring. TMA adds boxes to memory as it stores them, also to
//         another GPU's.
//         direct: every rank adds to the tile where it will stay, over the link, and raises the
//         tile's flag at the next rank. copy_engine: it adds to a sum in its own memory; the blocks
//         count the tiles of a chunk, and a stream that waits for the count copies the chunk on.
// vs 12c  the wait is in the epilogue, not in the producer, which is 11b's again; TMA adds where it
//         stored, but for the first of the ring; a warp that was idle tells the others of a tile
//         once it is written: the fence that this takes would hold up a consumer for longer than
//         the rest of its epilogue does.
// Step    two ways to send, to compare them, and the host's half of each.
// Limit   sums are rounded to fp16 once for every rank, as NCCL's are. A tile is sent when it is
//         done: nothing travels during the first wave, and the last piece arrives after the last.
#include "12c_waiting.cuh"

namespace ladder::reduce_scatter {

using overlapped_stores::as_halves, overlapped_stores::BK, overlapped_stores::BM,
    overlapped_stores::BN, overlapped_stores::BOX, overlapped_stores::CONSUMER_REGISTERS,
    overlapped_stores::CONSUMERS, overlapped_stores::MMA_K, overlapped_stores::MMA_M,
    overlapped_stores::PIPE, overlapped_stores::produce, overlapped_stores::PRODUCER_REGISTERS,
    overlapped_stores::THREADS, overlapped_stores::WARPGROUP;
using waiting::Maps, waiting::wait_for;
constexpr int WARPS = CONSUMERS * WARPGROUP / 32;  // that store a tile, each its rows

enum class Way { DIRECT, COPY_ENGINE };

struct Shared : overlapped_stores::Shared {
  uint32_t written[WARPS];  // tiles of each warp that others have to be told of
};

// Whom a block waits for before it adds, and whom it tells when what it has added is written.
struct Signals {
  int group;  // tiles below one another that are taken together
  // COPY_ENGINE
  int chunk_rows, chunks;   // of every rank's rows
  const uint32_t* arrived;  // chunks from the next rank, ...
  uint32_t before;          // ... counted from here
  uint32_t* finished;       // tiles of each chunk of a turn
  // DIRECT: a word for each tile of each rank's rows, the number of the last call in which the rank
  // before in the ring was done with it
  const uint32_t* own_tiles;
  uint32_t* next_tiles;  // of the rank that adds after this one
  uint32_t call;
};

// The word of a tile, of those of a matrix with so many columns and a rank's full share of rows.
__device__ __forceinline__ int64_t word_of(const RankTile& tile, int M, int N, int ranks) {
  const int bands = ceil_div(share(M, ranks, 0).count, BM), tiles_n = ceil_div(N, BN);
  return (int64_t{tile.rank} * bands + tile.m0 / BM) * tiles_n + tile.n0 / BN;
}

// A consumer, as 11b's. When it is a few tiles along K into a tile of C, it calls say(): what it
// has stored of the last one is written by then.
template <class Say>
__device__ __forceinline__ void consume(Shared& s, int tiles, float (&acc)[BN / 2], unsigned& step,
                                        Say say) {
  const int group_m = threadIdx.x / WARPGROUP * MMA_M;
  const auto release = [&](unsigned step) {
    if (threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty[step % PIPE]);
  };
#pragma unroll 1
  for (int t = 0; t < tiles; ++t, ++step) {
    ptx::mbarrier_wait_parity(&s.full[step % PIPE], step / PIPE % 2);
    const auto& now = s.tiles[step % PIPE];
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
      ptx::wgmma_m64k16_f32_f16(acc, descriptor_a(now.A, group_m, k), descriptor_b(now.B, k),
                                t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
    if (t > 0) release(step - 1);
    if (t == 2) say();
  }
  ptx::wgmma_wait_group<0>();
  if (tiles > 0) release(step - 1);
}

template <Way WAY>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, const __grid_constant__ Maps maps_C,
                Ranks ranks, const Signals signals) {
  Shared& s = dynamic_shared<Shared>();
  const int tiles = ceil_div(K, BK), tiles_of_C = rank_tiles<BM, BN>(M, N, ranks.count);
  const int first = ranks.after(1);

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CONSUMERS);
    for (uint32_t& written : s.written) written = 0;
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) {
      bool backwards = false;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const RankTile tile = rank_tile<BM, BN>(index, M, N, ranks.count, first, signals.group);
        const int m0 = share(M, ranks.count, tile.rank).first + tile.m0;
        produce(s, map_A, map_B, {m0, tile.n0}, tiles, backwards, step);
        backwards = !backwards;
      }
    } else if (threadIdx.x == CONSUMERS * WARPGROUP + 32) {
      uint32_t told = 0;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const RankTile tile = rank_tile<BM, BN>(index, M, N, ranks.count, first, signals.group);
        if (tile.turn == ranks.count - 1) break;  // the sum stays here
        ++told;
        for (const uint32_t& written : s.written)
          while (ptx::load_acquire_block(&written) < told) __nanosleep(100);
        if (WAY == Way::DIRECT)
          ptx::store_release_system(&signals.next_tiles[word_of(tile, M, N, ranks.count)],
                                    signals.call);
        else
          ptx::add_release_system(
              &signals.finished[tile.turn * MAX_CHUNKS + tile.m0 / signals.chunk_rows], 1);
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // Of lane 0: the tiles whose stores it has ordered, and those of them it has said are written.
    uint32_t stored = 0, said = 0;
    const auto say = [&] {
      if (said == stored) return;
      ptx::bulk_wait_group_written();
      said = stored;
      ptx::store_release_block(&s.written[warp], said);
    };
    int here = 0;  // chunks that are known to have arrived
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const RankTile tile = rank_tile<BM, BN>(index, M, N, ranks.count, first, signals.group);
      float acc[BN / 2];
      if (tiles == 0)
        for (float& sum : acc) sum = 0;
      consume(s, tiles, acc, step, say);

      if (lane == 0) {
        say();
        const int needed = (tile.turn - 1) * signals.chunks + tile.m0 / signals.chunk_rows + 1;
        if (tile.turn > 0 && WAY == Way::DIRECT)
          wait_for(&signals.own_tiles[word_of(tile, M, N, ranks.count)], signals.call, 0);
        else if (tile.turn > 0 && here < needed)
          here = wait_for(signals.arrived, signals.before, needed);
        if (tile.turn < ranks.count - 1) ++stored;
      }
#pragma unroll
      for (int j = 0; j < BN / BOX; ++j) {
        half(*const staged)[BOX] = s.staged[warp][j % 2];
        if (lane == 0) ptx::bulk_wait_group_read<1>();
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
        if (lane == 0) {
          const CUtensorMap* const map = &maps_C.of[tile.rank];
          const int m = tile.m0 + warp * 16, n = tile.n0 + j * BOX;
          if (tile.turn == 0)
            ptx::tma_store(map, n, m, staged);
          else
            ptx::tma_reduce_add(map, n, m, staged);
          ptx::bulk_commit_group();
        }
      }
    }
    if (lane == 0) {
      say();
      ptx::bulk_wait_group_written();
    }
  }
}

// Sends a chunk on as soon as all its tiles are done, turn after turn, chunk after chunk.
inline void send_chunks(const Gemm<half, half>& p, Link& link, uint32_t counted,
                        const Signals& signals) {
  const Ranks ranks = link.ranks;
  const int to = ranks.after(ranks.count - 1);
  for (int turn = 0; turn < ranks.count - 1; ++turn)
    for (int chunk = 0; chunk < signals.chunks; ++chunk) {
      const int rank = ranks.after(1 + turn), first = chunk * signals.chunk_rows;
      const int rows =
          std::clamp(share(p.M, ranks.count, rank).count - first, 0, signals.chunk_rows);
      const int word = turn * MAX_CHUNKS + chunk;
      link.finished[word] += ceil_div(rows, BM) * ceil_div(p.N, BN);
      ptx::stream_wait_value(link.copies, &link.own_flags()->finished[word], link.finished[word]);
      const auto chunk_at = [&](int memory) {
        return rows_of(link.buffer(memory), p.M, p.ldc, ranks.count, rank) + first * p.ldc;
      };
      send(link, to, chunk_at(to), chunk_at(ranks.own), p.ldc, p.ldc, rows,
           counted + turn * signals.chunks + chunk + 1);
    }
}

// As 12b's. With COPY_ENGINE a rank's rows travel in up to `chunks` pieces: two are within half a
// per cent of the best number from 8192^3 up, and the best below (two H200).
template <Way WAY>
const half* gemm_reduce_scatter(const Gemm<half, half>& p, Link& link, int chunks = 2) {
  require_valid(p);
  require_aligned_rows(p);
  const Ranks ranks = link.ranks;
  const int full = share(p.M, ranks.count, 0).count;
  const int bands = ceil_div(full, BM), tiles_n = ceil_div(p.N, BN);
  Signals signals{};
  // As many bands in each chunk, and each chunk is a number of whole groups.
  signals.chunk_rows = std::max(ceil_div(bands, chunks), 1) * BM;
  signals.chunks = std::max(ceil_div(full, signals.chunk_rows), 1);
  const int chunk_bands = signals.chunk_rows / BM;
  signals.group = ceil_div(chunk_bands, ceil_div(chunk_bands, 16));
  const uint32_t counted = begin_call(link, p.stream, (ranks.count - 1) * signals.chunks);
  half* const sums = link.buffer(ranks.own);
  half* const sum = rows_of(sums, p.M, p.ldc, ranks.count, ranks.own);
  tell_begun(link);
  if (p.M > 0 && p.N > 0) {
    const int64_t words = int64_t{ranks.count} * bands * tiles_n;
    if (WAY == Way::DIRECT && words > link.tile_flags_count)
      throw std::invalid_argument("the link has " + std::to_string(link.tile_flags_count) +
                                  " flags for tiles; this needs " + std::to_string(words));
    if (signals.chunks > MAX_CHUNKS)
      throw std::invalid_argument(std::to_string(signals.chunks) + " chunks, but there may be " +
                                  std::to_string(MAX_CHUNKS));
    const int next = ranks.after(1), before = ranks.after(ranks.count - 1);
    signals.arrived = &link.own_flags()->arrived[next];
    signals.before = counted;
    signals.finished = link.own_flags()->finished;
    signals.own_tiles = link.tile_flags[ranks.own];
    signals.next_tiles = link.tile_flags[before];
    signals.call = link.calls;
    Maps C{};
    for (int rank = 0; rank < ranks.count; ++rank) {
      const int rows = share(p.M, ranks.count, rank).count;
      if (rows == 0) continue;
      half* const memory = WAY == Way::DIRECT ? link.buffer(rank) : sums;
      // What is beyond N in the last 16 bytes of a row is written, too: the buffer is the link's.
      C.of[rank] = ptx::tensor_map(rows_of(memory, p.M, p.ldc, ranks.count, rank), rows,
                                   ceil_div(p.N, 8) * 8, p.ldc, 16);
    }
    // A rank without a column of A has a product all the same: zeros.
    launch(gemm_kernel<WAY>, waiting::grid(rank_tiles<BM, BN>(p.M, p.N, ranks.count), link),
           dim3(THREADS), sizeof(Shared), p.stream, p.M, p.N, p.K,
           ptx::tensor_map(p.A, p.M, std::max(p.K, 1), p.lda, BM),
           ptx::tensor_map(p.B, std::max(p.K, 1), p.N, p.ldb, BK), C, ranks, signals);
    if (WAY == Way::COPY_ENGINE) send_chunks(p, link, counted, signals);
  }
  end_call(link, p.stream);
  return sum;
}

}  // namespace ladder::reduce_scatter
