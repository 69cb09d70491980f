#pragma once
// 21 grouped: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out; many of them
// of different M in one launch, each with a B of its own: the experts of a mixture, or a batch.
// Idea    one loop goes over the tiles of all groups, numbered group after group: waves fill up
//         across groups, and nothing is launched or drained in between. Where the groups end is
//         read by the kernel, from device memory.
// vs 13   Walk, which finds the group of a tile, and more registers for the producer; a third
//         coordinate for B's boxes; a piece of C in which the group ends is stored by its warps;
//         the choice of the tile for all groups, or for the mean one, by 13's measured times;
//         without pairs and without an epilogue.
// Step    pairs and the epilogue leave each function, and most statements that change lose them.
// Limit   one height of tiles for all groups: a group's last tile is multiplied whole.
#include <algorithm>
#include <string>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/sixteen_bits.cuh"
#include "parts/store_halves.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::grouped {

constexpr int WARPGROUP = 128;
constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int MMA_K = 16;
constexpr int BAND = 2048;  // rows of C in a band of tiles
constexpr int BK = 64;
constexpr int BOX = 64;    // columns of a box: 128 bytes; and of C in one wgmma, its m
constexpr int STAGED = 2;  // pieces of C a warpgroup has on their way

// Registers a thread, by role. At the launch all have as many, 168: the largest multiple of 8 with
// which three warpgroups share a multiprocessor's 64 K. The sums of 176x256 alone are 176.
constexpr int LAUNCH_REGISTERS = 64 * 1024 / THREADS / 8 * 8;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <=
              (CONSUMERS + 1) * LAUNCH_REGISTERS);

// ---- Tiles of all groups -----------------------------------------------------------------------

// The groups as the kernel has them. Without ends there is one, of M rows. Ends that only the
// device knows nobody has checked: behind row M nothing may be stored, nor before row 0.
struct Ends {
  const int* ends;
  int count, M;

  __device__ __forceinline__ int end(int group, int begin) const {
    return ends ? max(begin, min(ends[group], M)) : M;
  }
};

// A block's way through the tiles of all groups, which are numbered group after group. It only
// goes forwards, and so looks at each group once.
template <int BM, int BN>
struct Walk {
  int group = -1, begin = 0, end = 0;  // its rows
  int first = 0, tiles = 0;            // the number of its first tile, and how many it has

  // To tile `index`, which is not before the last one. Whether there is such a tile.
  __device__ __forceinline__ bool reach(int index, const Ends& ends, int N) {
    while (index >= first + tiles) {
      if (++group == ends.count) return false;
      first += tiles;
      begin = end;
      end = ends.end(group, begin);
      tiles = ceil_div(end - begin, BM) * ceil_div(N, BN);
    }
    return true;
  }
  __device__ __forceinline__ Tile tile(int index, int N) const {
    const Tile in_group = tile_of<BM, BN, BAND / BM>(index - first, end - begin, N);
    return {begin + in_group.m0, in_group.n0};
  }
};

// ---- The kernel --------------------------------------------------------------------------------

template <int BM, int BN>
struct Tiles {
  half A[BM][BK];
  half B[BN / BOX][BK][BOX];
};

// Buffers that fit into shared memory beside `rows` of each piece, and the barriers.
template <int BM, int BN>
constexpr int buffers_beside(int rows) {
  constexpr int SHARED_BYTES = 227 * 1024, BARRIERS = 256, MOST = 16;
  const int staged = CONSUMERS * STAGED * rows * BOX * static_cast<int>(sizeof(half));
  return std::min(MOST,
                  (SHARED_BYTES - BARRIERS - staged) / static_cast<int>(sizeof(Tiles<BM, BN>)));
}

template <int BM, int BN>
struct Shared {
  // Rows of a piece: the longer, the fewer waits; but not at the price of a buffer.
  static constexpr int PIECE = buffers_beside<BM, BN>(64) < buffers_beside<BM, BN>(32) ? 32 : 64;
  static constexpr int LAST_PIECE = BM - (BM - 1) / PIECE * PIECE;
  static constexpr int PIPE = buffers_beside<BM, BN>(PIECE);
  Tiles<BM, BN> tiles[PIPE];
  half staged[CONSUMERS][STAGED][PIECE][BOX];  // on their way to C
  uint64_t full[PIPE];                         // completes when a tile has landed
  uint64_t empty[PIPE];                        // completes when both consumers have multiplied it
};

// The producer, one thread: fills every buffer as soon as it is empty. `step` counts the tiles of
// operands since the start: they go to buffer step % PIPE, in its round step / PIPE. A box of A may
// have rows of the next group, of which nothing is stored; one of B has zeros behind the last row
// of its own matrix.
template <int BM, int BN>
__device__ __forceinline__ void produce(Shared<BM, BN>& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, Tile tile, int group, int tiles,
                                        bool backwards, unsigned& step) {
  constexpr int PIPE = Shared<BM, BN>::PIPE;
  for (int t = 0; t < tiles; ++t, ++step) {
    const unsigned to = step % PIPE;
    // Nobody may still read what lies there. The first time round nobody does: the phase before the
    // first, of parity 1, counts as complete.
    ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    const int k0 = (backwards ? tiles - 1 - t : t) * BK;
    ptx::tma_load(s.tiles[to].A, &map_A, k0, tile.m0, &s.full[to]);
    for (int j = 0; j < BN / BOX; ++j)
      ptx::tma_load(s.tiles[to].B[j], &map_B, tile.n0 + j * BOX, k0, group, &s.full[to]);
  }
}

// A consumer, a warpgroup: multiplies its boxes of every tile of B, and all of A, as soon as they
// have landed. acc[w] is transposed: 64 columns of C by BM rows.
template <int BM, int BN, int BOXES>
__device__ __forceinline__ void consume(Shared<BM, BN>& s, int tiles, int first_box,
                                        float (&acc)[BOXES][BM / 2], unsigned& step) {
  constexpr int PIPE = Shared<BM, BN>::PIPE;
  // The buffer of a tile goes back to the producer.
  const auto release = [&](unsigned step) {
    if (threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty[step % PIPE]);
  };
#pragma unroll 1
  for (int t = 0; t < tiles; ++t, ++step) {
    // Phase step / PIPE of a buffer's barrier is over when the tile has landed.
    ptx::mbarrier_wait_parity(&s.full[step % PIPE], step / PIPE % 2);
    const auto& now = s.tiles[step % PIPE];
    ptx::wgmma_fence();  // what was done to acc before comes first
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
        ptx::wgmma_m64k16_f32_f16_a_along_m(acc[w], descriptor_b(now.B, k, first_box + w),
                                            descriptor_a(now.A, 0, k), t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release(step - 1);
  }
  ptx::wgmma_wait_group<0>();
  release(step - 1);
}

// The rows from `row0` on of a warp's 16 columns of C, which it has as columns of `acc`: turned, to
// the rows of a piece. A stmatrix turns 8 rows by 16 columns, or two of these.
template <int BM, int PIECE>
__device__ __forceinline__ void stage_piece(half (*staged)[BOX], const float (&acc)[BM / 2],
                                            int row0, int warp, int lane) {
  const int col = warp * 16 + lane / 8 % 2 * 8;
#pragma unroll
  for (int row = 0; row < PIECE && row0 + row < BM; row += 16) {
    const float* const a = &acc[(row0 + row) / 2];
    const uint32_t upper[2] = {as_pair<half>(a[0], a[1]), as_pair<half>(a[2], a[3])};
    if (row0 + row + 8 < BM) {
      const uint32_t both[4] = {upper[0], upper[1], as_pair<half>(a[4], a[5]),
                                as_pair<half>(a[6], a[7])};
      ptx::stmatrix_x4_trans(&staged[row + lane / 16 * 8 + lane % 8][swizzled(lane, col)], both);
    } else {
      ptx::stmatrix_x2_trans(&staged[row + lane % 8][swizzled(lane, col)], upper);
    }
  }
}

template <int BM, int BN>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int N, int K, const Ends ends, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C,
                const __grid_constant__ CUtensorMap map_C_last, half* C, int64_t ldc) {
  constexpr int PIECE = Shared<BM, BN>::PIECE;
  Shared<BM, BN>& s = dynamic_shared<Shared<BM, BN>>();
  const int tiles = ceil_div(K, BK);

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CONSUMERS);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();

  unsigned step = 0;
  Walk<BM, BN> walk;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) {
      // Every other tile of C from the end of K: it is mostly in the band of those before, and what
      // they have read last of the band's rows of A is still in L2.
      bool backwards = false;
      for (int index = blockIdx.x; walk.reach(index, ends, N); index += gridDim.x) {
        produce(s, map_A, map_B, walk.tile(index, N), walk.group, tiles, backwards, step);
        backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    const int consumer = warpgroup_of_block();
    const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
    const bool sends = threadIdx.x % WARPGROUP == 0;
    unsigned piece = 0;
    for (int index = blockIdx.x; walk.reach(index, ends, N); index += gridDim.x) {
      const Tile tile = walk.tile(index, N);
      constexpr int BOXES = BN / BOX / CONSUMERS;
      float acc[BOXES][BM / 2];
      consume(s, tiles, consumer * BOXES, acc, step);

      // To C by way of shared memory, box by box, in pieces: each warp turns its 16 columns of a
      // piece, and one thread sends all of it.
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
#pragma unroll
        for (int row0 = 0; row0 < BM; row0 += PIECE, ++piece) {
          half(*const staged)[BOX] = s.staged[consumer][piece % STAGED];
          // The piece that was here before is on its way; of the others, one may still wait.
          if (sends) ptx::bulk_wait_group_read<STAGED - 1>();
          ptx::named_barrier_sync(1 + consumer, WARPGROUP);  // for all four warps' rows of it
          stage_piece<BM, PIECE>(staged, acc[w], row0, warp, lane);
          ptx::fence_proxy_async();                          // TMA sees what this lane has written
          ptx::named_barrier_sync(1 + consumer, WARPGROUP);  // and all lanes have
          const int m = tile.m0 + row0, n = tile.n0 + (consumer * BOXES + w) * BOX;
          const int rows = min(PIECE, BM - row0);
          // TMA would write rows of the next group, or past the end of a row.
          if (m + rows > walk.end || (n + BOX > N && N % 8 != 0))
            for (int row = warp * 8; row < rows; row += WARPGROUP / 32 * 8)
              store_staged<8>(&staged[row], C, ldc, m + row, n, walk.end, N, lane);
          else if (sends)
            ptx::tma_store(rows == PIECE ? &map_C : &map_C_last, n, m, staged[0]);
          // A group for each piece, an empty one for what the warps have stored: the wait above
          // counts them.
          if (sends) ptx::bulk_commit_group();
        }
    }
    if (sends) ptx::bulk_wait_group_read<0>();  // the last pieces are still read
  }
}

// ---- The launcher ------------------------------------------------------------------------------

// What the launcher chooses among: tiles, one kind for all groups. On an H200 13's kernel takes
// `step` ns for a step along K of a wave, and `tile` more for a tile (tuned/h200.h, where the waves
// are not the first).
struct Configuration {
  int BM, BN;
  double step, tile;
  void (*launch)(const Gemm<half, half>&, int blocks);
};

// Throws CudaError where there is no TMA.
template <int BM, int BN>
void launch_configuration(const Gemm<half, half>& p, int blocks) {
  const int groups = std::max(1, p.groups.count);
  launch(gemm_kernel<BM, BN>, dim3(blocks), dim3(THREADS), sizeof(Shared<BM, BN>), p.stream, p.N,
         p.K, Ends{p.groups.ends, groups, p.M}, ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
         ptx::tensor_map_of_several(p.B, groups, p.K, p.N, p.ldb, BK),
         ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared<BM, BN>::PIECE),
         ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared<BM, BN>::LAST_PIECE), p.C, p.ldc);
}
template <int BM, int BN>
constexpr Configuration configuration(double step = 1, double tile = 0) {
  return {BM, BN, step, tile, launch_configuration<BM, BN>};
}
// Some of 13's.
inline constexpr Configuration CONFIGURATIONS[] = {
    configuration<64, 128>(233.5, 431),   configuration<64, 256>(367.1, 1058),
    configuration<104, 256>(561.3, 1001), configuration<128, 256>(676.1, 1038),
    configuration<152, 256>(799.4, 1640), configuration<176, 256>(922.5, 1664)};

// "152x256".
inline std::string name(const Configuration& c) {
  return std::to_string(c.BM) + "x" + std::to_string(c.BN);
}

// Of all groups; where only the device knows their ends, as if all had the mean number of rows.
inline int tiles(const Gemm<half, half>& p, const Configuration& c) {
  const int count = std::max(1, p.groups.count);
  int high = 0;  // tiles below each other
  if (p.groups.ends_on_host == nullptr)
    high = count * ceil_div(ceil_div(p.M, count), c.BM);
  else
    for (int g = 0; g < count; ++g) high += ceil_div(product_of_group(p, g).M, c.BM);
  return high * ceil_div(p.N, c.BN);
}
// Rounds of one tile for each multiprocessor.
inline int waves(const Gemm<half, half>& p, const Configuration& c) {
  return ceil_div(tiles(p, c), device_attribute(cudaDevAttrMultiProcessorCount));
}

// Whether C is done without a kernel.
inline bool is_done(Gemm<half, half> p) {
  require_valid_groups(p);
  p.groups = {};
  return done_without_kernel(p);
}

inline void gemm_as(const Configuration& c, const Gemm<half, half>& p) {
  if (is_done(p)) return;
  const bool known = p.groups.count == 0 || p.groups.ends_on_host != nullptr;
  // No more blocks than it takes to be done in as many waves; all, where these are not known.
  c.launch(p, known ? ceil_div(tiles(p, c), waves(p, c))
                    : device_attribute(cudaDevAttrMultiProcessorCount));
}

// What all waves take, in ns on an H200, where memory is not what takes the time.
inline double cost(const Gemm<half, half>& p, const Configuration& c) {
  return waves(p, c) * (ceil_div(p.K, BK) * c.step + c.tile);
}

inline void gemm(const Gemm<half, half>& p) {
  if (is_done(p)) return;
  const Configuration* first = nullptr;  // to be done
  for (const Configuration& c : CONFIGURATIONS)
    if (!first || cost(p, c) < cost(p, *first)) first = &c;
  gemm_as(*first, p);
}

// As if the ends were known to the device alone, which is so where a kernel before has made them.
inline void gemm_of_mean(Gemm<half, half> p) {
  require_valid_groups(p);
  p.groups.ends_on_host = nullptr;
  gemm(p);
}

// A launch for each group, with the tile that is best for it. The host has to know the ends.
inline void gemm_one_by_one(const Gemm<half, half>& p) {
  if (is_done(p)) return;
  if (p.groups.count > 0 && p.groups.ends_on_host == nullptr)
    throw std::invalid_argument("a launch for each group needs their ends on the host, too");
  for (int g = 0; g < p.groups.count; ++g) gemm(product_of_group(p, g));
  if (p.groups.count == 0) gemm(p);
}

}  // namespace ladder::grouped
