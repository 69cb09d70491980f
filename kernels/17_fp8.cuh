#pragma once
// 17 fp8: C[M,N] = A[M,K] * B[K,N], row-major but for B, which is stored transposed, N x K; fp8 in,
// fp32 accumulate, bf16 out.
// Idea    numbers of 8 bits, e4m3 or e5m2: a wgmma multiplies 32 of K in the clocks that 16 halves
//         take. It reads both operands along K, so that B comes transposed. The tensor core keeps
//         14 bits of its sums: what is exact enough for a short K is not for a long one.
// vs 11b  fp8, with B's tile as A's, a box of rows along K; any tile of 128, 192 or 256 rows by a
//         multiple of 16 columns, of 192 rows with three warpgroups that multiply; C in pieces of
//         64 rows, one on its way where that makes room for a buffer; bf16 out; the choice of the
//         tile by measured steps; a warpgroup number that ptxas sees as one for a warp; functions,
//         of any In and any Out, that 17b, 17c, 19, 20 and 22 use.
// Step    what the 8 bits change is less than half of it: they take other tiles.
// Limit   the 14 bits: 17b.
#include <string>
#include <type_traits>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/configurations.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/ring.cuh"
#include "parts/sixteen_bits.cuh"
#include "parts/store_halves.cuh"
#include "parts/store_pieces.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"
#include "types.cuh"

namespace ladder::fp8 {

constexpr int WARPGROUP = 128;
constexpr int MMA_M = 64;   // and as many columns as the tile has
constexpr int BAND = 2048;  // rows of C in a band of tiles

// In and Out are parameters of all of it: 19 multiplies tf32, 20 integers. Whatever the numbers
// are, a row of operands has 128 bytes, of which a wgmma takes 32, and so has a row of a piece of
// C.
template <class In>
constexpr int BK = 128 / static_cast<int>(sizeof(In));
template <class In>
constexpr int MMA_K = 32 / static_cast<int>(sizeof(In));
template <class Out>
constexpr int BOX = 128 / static_cast<int>(sizeof(Out));  // columns of C in a piece
template <class In>
using Sum = std::conditional_t<std::is_integral_v<In>, int32_t, float>;

// Warpgroups that multiply, each 64 or 128 rows of a tile.
template <int BM>
constexpr int CONSUMERS = BM % (3 * MMA_M) == 0 ? 3 : 2;
template <int BM>
constexpr int THREADS = (CONSUMERS<BM> + 1) * WARPGROUP;
template <int BM>
constexpr int PARTS = BM / (CONSUMERS<BM> * MMA_M);  // of 64 rows, that one of them has

// Registers a thread, by role, which share what all have at the launch: 128 for each of four
// warpgroups, or 168 for each of three.
constexpr int PRODUCER_REGISTERS = 24;
template <int BM>
constexpr int CONSUMER_REGISTERS = CONSUMERS<BM> == 3 ? 160 : 240;

template <class In, int BM, int BN>
struct Tiles {
  In A[BM][BK<In>];
  In B[BN][BK<In>];
};

// Buffers of `bytes` that fit into shared memory beside `staged` pieces of C a warpgroup, and the
// barriers.
template <int BM>
constexpr int buffers_beside(int staged, int bytes) {
  constexpr int SHARED_BYTES = 227 * 1024, BARRIERS = 256, PIECE = MMA_M * 128;
  return (SHARED_BYTES - BARRIERS - CONSUMERS<BM> * staged * PIECE) / bytes;
}

// MORE are bytes that a buffer has elsewhere.
template <class In, class Out, int BM, int BN, int MORE = 0>
struct Shared {
  static constexpr int BYTES = static_cast<int>(sizeof(Tiles<In, BM, BN>)) + MORE;
  // Pieces of C a warpgroup has on their way: one, where that makes room for a buffer.
  static constexpr int STAGED = buffers_beside<BM>(1, BYTES) > buffers_beside<BM>(2, BYTES) ? 1 : 2;
  static constexpr int PIPE = buffers_beside<BM>(STAGED, BYTES);
  Tiles<In, BM, BN> tiles[PIPE];
  Out staged[CONSUMERS<BM>][STAGED][MMA_M][BOX<Out>];  // on their way to C
  uint64_t full[PIPE];                                 // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when all consumers have multiplied it
};

// The barriers, of which `empty` waits for so many arrivals; no thread passes before they are
// there.
template <class Shared>
__device__ __forceinline__ void prepare(Shared& s, int arrivals) {
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, arrivals);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();
}

// The producer, a warp, of which an elected lane orders the copies (see 13): fills every buffer as
// soon as it is empty. `step` counts the tiles of operands since the start: they go to buffer step
// % PIPE, in its round step / PIPE.
template <class In, class Out, int BM, int BN>
__device__ __forceinline__ void produce(Shared<In, Out, BM, BN>& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, Tile tile, int tiles,
                                        bool backwards, unsigned& step) {
  constexpr int PIPE = Shared<In, Out, BM, BN>::PIPE;
  for (int t = 0; t < tiles; ++t, ++step) {
    const unsigned to = step % PIPE;
    // Nobody may still read what lies there. The first time round nobody does: the phase before the
    // first, of parity 1, counts as complete.
    ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
    if (!ptx::elect_one()) continue;
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    const int k0 = (backwards ? tiles - 1 - t : t) * BK<In>;
    ptx::tma_load(s.tiles[to].A, &map_A, k0, tile.m0, &s.full[to]);
    ptx::tma_load(s.tiles[to].B, &map_B, k0, tile.n0, &s.full[to]);
  }
}

// The instruction for numbers of type In.
template <class In, int COUNT>
__device__ __forceinline__ void wgmma(Sum<In> (&acc)[COUNT], uint64_t a, uint64_t b,
                                      bool accumulate) {
  if constexpr (std::is_same_v<In, tf32>)
    ptx::wgmma_m64k8_f32_tf32(acc, a, b, accumulate);
  else if constexpr (std::is_same_v<In, int8_t>)
    ptx::wgmma_m64k32_s32_s8(acc, a, b, accumulate);
  else if constexpr (sizeof(In) == 2)
    ptx::wgmma_m64k16_f32<In, ptx::Major::K, ptx::Major::K>(acc, a, b, accumulate);
  else
    ptx::wgmma_m64k32_f32_fp8<In>(acc, a, b, accumulate);
}

// A consumer, a warpgroup: multiplies its rows of every tile, from group_m on, as soon as it has
// landed.
template <class In, class Out, int BM, int BN>
__device__ __forceinline__ void multiply(Shared<In, Out, BM, BN>& s, int tiles, int group_m,
                                         Sum<In> (&acc)[PARTS<BM>][BN / 2], unsigned& step) {
  constexpr int PIPE = Shared<In, Out, BM, BN>::PIPE;
  // The buffer of a tile goes back to the producer.
  const auto release = [&](unsigned buffer) {
    if (threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty[buffer]);
  };
  const auto& first = s.tiles[0];
  const uint64_t first_a = descriptor_along_k(first.A, group_m, 0),
                 first_b = descriptor_along_k(first.B, 0, 0);
  Ring ring = {PIPE, step % PIPE, step / PIPE % 2};
  unsigned before = 0;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t, ring.next()) {
    // A round of a buffer's barrier is over when the tile has landed.
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const uint64_t a = further(first_a, ring.buffer * sizeof first),
                   b = further(first_b, ring.buffer * sizeof first);
    ptx::wgmma_fence();  // what was done to acc before comes first
#pragma unroll
    for (int k = 0; k < BK<In>; k += MMA_K<In>)
#pragma unroll
      for (int i = 0; i < PARTS<BM>; ++i)
        wgmma<In>(acc[i], further(a, i * MMA_M * sizeof first.A[0] + k * sizeof(In)),
                  further(b, k * sizeof(In)), t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release(before);
    before = ring.buffer;
  }
  step += tiles;
  ptx::wgmma_wait_group<0>();
  release(before);
}

// C, to TMA in pieces, and to lanes.
template <class Out>
struct Result {
  const CUtensorMap& pieces;
  Out* C;
  int64_t ldc;
};

// A warpgroup's sums go to C by way of shared memory, in pieces of 64 rows: each warp has 16 of
// them, and one thread sends all. `piece` counts those of the warpgroup. `finish` stages a warp's
// rows of one, from column n of C on, as what C consists of.
template <class Shared, class Sum, int COUNT, int PARTS, class Finish, class Out>
__device__ __forceinline__ void store(Shared& s, int group, const Sum (&acc)[PARTS][COUNT],
                                      const Finish& finish, const Result<Out>& to, int M, int N,
                                      Tile tile, unsigned& piece) {
  constexpr int STAGED = Shared::STAGED, COLS = BOX<Out>, BN = 2 * COUNT;
  constexpr int CHUNK = 16 / static_cast<int>(sizeof(Out));
  const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
  const bool sends = threadIdx.x % WARPGROUP == 0;
#pragma unroll
  for (int i = 0; i < PARTS; ++i)
#pragma unroll
    for (int j = 0; j * COLS < BN; ++j, ++piece) {
      // Of 176 columns the last piece of 64 has 16 once more that the one before has, too.
      const int col0 = min(j * COLS, BN - COLS);
      Out(*const staged)[COLS] = s.staged[group][piece % STAGED];
      wait_for_place<STAGED>(group);
      finish(&staged[warp * 16], &acc[i][col0 / 2], tile.n0 + col0, N, lane);
      wait_for_warps(group);
      const int m = tile.m0 + (group * PARTS + i) * MMA_M, n = tile.n0 + col0;
      if (n + COLS > N && N % CHUNK != 0)  // TMA would write past the end of a row
        store_staged<16>(&staged[warp * 16], to.C, to.ldc, m + warp * 16, n, M, N, lane);
      else if (sends)
        ptx::tma_store(&to.pieces, n, m, staged);
      // A group for each piece, an empty one for what the warps have stored: the wait above counts
      // them.
      if (sends) ptx::bulk_commit_group();
    }
}

// For store(): rounds to bf16.
struct Rounded {
  __device__ __forceinline__ void operator()(bf16 (*staged)[BOX<bf16>], const float* sums, int, int,
                                             int lane) const {
#pragma unroll
    for (int col = 0; col < BOX<bf16>; col += 16) {
      const float* const a = &sums[col / 2];
      const uint32_t block[4] = {as_pair<bf16>(a[0], a[1]), as_pair<bf16>(a[2], a[3]),
                                 as_pair<bf16>(a[4], a[5]), as_pair<bf16>(a[6], a[7])};
      ptx::stmatrix_x4(&staged[lane % 16][swizzled(lane % 16, col + lane / 16 * 8)], block);
    }
  }
};

template <class In, class Out, int BM, int BN, class Finish>
__global__ void __launch_bounds__(THREADS<BM>, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, Out* C, int64_t ldc,
                const Finish finish) {
  auto& s = dynamic_shared<Shared<In, Out, BM, BN>>();
  const int tiles = ceil_div(K, BK<In>);
  prepare(s, CONSUMERS<BM>);

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS<BM> * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (warp_of_block() == CONSUMERS<BM> * WARPGROUP / 32) {
      // Every other tile of C from the end of K: it is mostly in the band of those before, and what
      // they have read last of the band's rows of A is still in L2.
      bool backwards = false;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
        produce(s, map_A, map_B, tile, tiles, backwards, step);
        backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS<BM>>();
    const int group = warpgroup_of_block(), group_m = group * PARTS<BM> * MMA_M;
    const bool sends = threadIdx.x % WARPGROUP == 0;
    const Result<Out> to{map_C, C, ldc};
    unsigned piece = 0;
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
      Sum<In> acc[PARTS<BM>][BN / 2];
      multiply(s, tiles, group_m, acc, step);
      store(s, group, acc, finish, to, M, N, tile, piece);
    }
    if (sends) ptx::bulk_wait_group_read<0>();  // the last pieces are still read
  }
}

// What the launcher chooses among: tiles, and what a step along K of one takes, in nanoseconds.
template <class In, class Out = bf16>
struct Configuration {
  int BM, BN;
  double step;
  void (*launch)(const Gemm<In, Out>&, int tiles_of_C, int blocks);
};

// Throws CudaError where there is no TMA. 17b has a kernel of its own with the same parameters.
template <int BM, int BN, class Kernel, class In, class Out, class... Finish>
void launch_kernel(Kernel kernel, const Gemm<In, Out>& p, int tiles_of_C, int blocks,
                   const Finish&... finish) {
  launch(kernel, dim3(blocks), dim3(THREADS<BM>), sizeof(Shared<In, Out, BM, BN>), p.stream, p.M,
         p.N, p.K, tiles_of_C, ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
         ptx::tensor_map(p.B, p.N, p.K, p.ldb, BN), ptx::tensor_map(p.C, p.M, p.N, p.ldc, MMA_M),
         p.C, p.ldc, finish...);
}
template <class In, int BM, int BN>
void launch_configuration(const Gemm<In, bf16>& p, int tiles_of_C, int blocks) {
  launch_kernel<BM, BN>(gemm_kernel<In, bf16, BM, BN, Rounded>, p, tiles_of_C, blocks, Rounded{});
}
template <class In, int BM, int BN>
constexpr Configuration<In> configuration(double step = 0) {
  return {BM, BN, step, launch_configuration<In, BM, BN>};
}
// Steps as measured on an H200: the time by waves and steps of each, the mean of 8192^3 and
// 4096x7168x16384.
template <class In>
inline constexpr Configuration<In> CONFIGURATIONS[] = {
    configuration<In, 128, 128>(364), configuration<In, 128, 192>(528),
    configuration<In, 128, 256>(670), configuration<In, 192, 128>(551),
    configuration<In, 192, 176>(702), configuration<In, 256, 128>(686)};

// "128x256".
template <class In, class Out>
std::string name(const Configuration<In, Out>& c) {
  return std::to_string(c.BM) + "x" + std::to_string(c.BN);
}
template <class In, class Out>
int tiles(const Gemm<In, Out>& p, const Configuration<In, Out>& c) {
  return ceil_div(p.M, c.BM) * ceil_div(p.N, c.BN);
}
// Rounds of one tile for each multiprocessor.
template <class In, class Out>
int waves(const Gemm<In, Out>& p, const Configuration<In, Out>& c) {
  return ceil_div(tiles(p, c), device_attribute(cudaDevAttrMultiProcessorCount));
}

template <class In, class Out>
void gemm_as(const Configuration<In, Out>& c, const Gemm<In, Out>& p) {
  if (!done_without_kernel(p)) launch_in_waves(c, p);
}

// What p takes, in nanoseconds, but for what it takes with every tile: the steps along K of all
// waves, and for what is before the first and after the last as much as lets the fastest tile be
// chosen at four measured shapes.
template <class In, class Out>
double cost(const Gemm<In, Out>& p, const Configuration<In, Out>& c) {
  constexpr double FIRST_AND_LAST = 0.2;  // for an element of a tile
  return waves(p, c) * ceil_div(p.K, BK<In>) * c.step + FIRST_AND_LAST * c.BM * c.BN;
}

// Always 128x256, as 11b.
template <class In>
void gemm_128x256(const Gemm<In, bf16>& p) {
  gemm_as(configuration<In, 128, 256>(), p);
}
template <class In>
void gemm(const Gemm<In, bf16>& p) {
  if (!done_without_kernel(p)) gemm_as(first_done(CONFIGURATIONS<In>, p), p);
}

}  // namespace ladder::fp8
