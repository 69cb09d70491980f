#pragma once
// 19 tf32: C[M,N] = A[M,K] * B[K,N] of floats, by tensor cores that read 19 bits of each; fp32
// accumulate, fp32 out. C by rows; A and B each by rows or by columns.
// Idea    a float in memory is a tf32 to a tensor core: it does not read the lower 13 bits of the
//         fraction. TMA can round to the nearest on the way, and what is lost can be multiplied by
//         itself: three products give the accuracy of fp32 back. An operand is read along K alone:
//         what is not stored so is turned first.
// vs 17   tf32, and C of fp32, whose pieces are 32 columns wide and filled by plain stores; the
//         maps of up to three products, the pass that makes the small parts for them, and sums of
//         128 of K that are added in fp32; the pass that transposes; two tiles.
// Step    half of it is what is done with an operand before the kernel: turned, or split in two.
// Limit   17's.
#include <string>
#include <utility>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_halves.cuh"
#include "parts/transpose.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"
#include "types.cuh"

namespace ladder::tf32_products {

constexpr int WARPGROUP = 128;
constexpr int MMA_M = 64, MMA_K = 8;  // and as many columns as the tile has
constexpr int BAND = 2048;            // rows of C in a band of tiles
constexpr int BK = 32;                // 128 bytes
constexpr int BOX = 32;               // columns of C in a piece: 128 bytes

// Warpgroups that multiply, each 64 or 128 rows of a tile.
template <int BM>
constexpr int CONSUMERS = BM % (3 * MMA_M) == 0 ? 3 : 2;
template <int BM>
constexpr int THREADS = (CONSUMERS<BM> + 1) * WARPGROUP;
template <int BM>
constexpr int PARTS = BM / (CONSUMERS<BM> * MMA_M);  // of 64 rows, that one of them has

constexpr int PART = 4;  // tiles of operands, 128 of K

// Registers a thread, by role, which share what all have at the launch: 128 for each of four
// warpgroups, or 168 for each of three.
constexpr int PRODUCER_REGISTERS = 24;
template <int BM>
constexpr int CONSUMER_REGISTERS = CONSUMERS<BM> == 3 ? 160 : 240;

template <int BM, int BN>
struct Tiles {
  tf32 A[BM][BK];
  tf32 B[BN][BK];
};

// Buffers that fit into shared memory beside `staged` pieces of C a warpgroup, and the barriers.
template <int BM, int BN>
constexpr int buffers_beside(int staged) {
  constexpr int SHARED_BYTES = 227 * 1024, BARRIERS = 256, PIECE = MMA_M * 128;
  return (SHARED_BYTES - BARRIERS - CONSUMERS<BM> * staged * PIECE) /
         static_cast<int>(sizeof(Tiles<BM, BN>));
}

template <int BM, int BN>
struct Shared {
  // Pieces of C a warpgroup has on their way: one, where that makes room for a buffer.
  static constexpr int STAGED = buffers_beside<BM, BN>(1) > buffers_beside<BM, BN>(2) ? 1 : 2;
  static constexpr int PIPE = buffers_beside<BM, BN>(STAGED);
  Tiles<BM, BN> tiles[PIPE];
  float staged[CONSUMERS<BM>][STAGED][MMA_M][BOX];  // on their way to C
  uint64_t full[PIPE];                              // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when all consumers have multiplied it
};

// What is multiplied: A * B, or small A * B + A * small B + A * B, where `small` is what a tensor
// core does not read of a float. The small products come first, while the sum they are added to is
// small as well.
struct Operands {
  CUtensorMap A, B, small_A, small_B;
  int products;  // 1 or 3
};

// The producer, one thread: fills every buffer as soon as it is empty. `step` counts the tiles of
// operands since the start: they go to buffer step % PIPE, in its round step / PIPE.
template <int BM, int BN>
__device__ __forceinline__ void produce(Shared<BM, BN>& s, const Operands& from, Tile tile,
                                        int tiles, bool backwards, unsigned& step) {
  constexpr int PIPE = Shared<BM, BN>::PIPE;
  for (int left = from.products; left > 0; --left)
    for (int t = 0; t < tiles; ++t, ++step) {
      const unsigned to = step % PIPE;
      // Nobody may still read what lies there. The first time round nobody does: the phase before
      // the first, of parity 1, counts as complete.
      ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
      ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
      const int k0 = (backwards ? tiles - 1 - t : t) * BK;
      ptx::tma_load(s.tiles[to].A, left == 3 ? &from.small_A : &from.A, k0, tile.m0, &s.full[to]);
      ptx::tma_load(s.tiles[to].B, left == 2 ? &from.small_B : &from.B, k0, tile.n0, &s.full[to]);
    }
}

// A consumer, a warpgroup: multiplies its rows of every tile, from group_m on, as soon as it has
// landed.
template <int BM, int BN>
__device__ __forceinline__ void consume(Shared<BM, BN>& s, int tiles, int group_m,
                                        float (&acc)[PARTS<BM>][BN / 2], unsigned& step) {
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
      for (int i = 0; i < PARTS<BM>; ++i)
        ptx::wgmma_m64k8_f32_tf32(acc[i], descriptor_along_k(now.A, group_m + i * MMA_M, k),
                                  descriptor_along_k(now.B, 0, k), t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release(step - 1);
  }
  ptx::wgmma_wait_group<0>();
  release(step - 1);
}

// The same of three products, with the sums of each PART of tiles added in fp32: a tensor core cuts
// a sum towards zero whenever it adds to it.
template <int BM, int BN>
__device__ __forceinline__ void consume_in_parts(Shared<BM, BN>& s, int tiles, int group_m,
                                                 float (&total)[PARTS<BM>][BN / 2],
                                                 unsigned& step) {
#pragma unroll
  for (float& sum : total[0]) sum = 0;
#pragma unroll 1
  for (int left = 3; left > 0; --left) {
#pragma unroll 1
    for (int t = 0; t < tiles; t += PART) {
      float acc[PARTS<BM>][BN / 2];
      consume(s, min(PART, tiles - t), group_m, acc, step);
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) total[0][i] += acc[0][i];
    }
    // An infinity has no small part, and times one that is 0 it is no number. What comes of it, and
    // of NaN, is what A * B says.
    if (left == 2)
#pragma unroll
      for (float& sum : total[0]) sum = fabsf(sum) < __builtin_huge_valf() ? sum : 0;
  }
}

template <int BM, int BN, bool IN_PARTS>
__global__ void __launch_bounds__(THREADS<BM>, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ Operands from,
                const __grid_constant__ CUtensorMap map_C, float* C, int64_t ldc) {
  Shared<BM, BN>& s = dynamic_shared<Shared<BM, BN>>();
  const int tiles = ceil_div(K, BK);

  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CONSUMERS<BM>);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS<BM> * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS<BM> * WARPGROUP) {
      // Every other tile of C from the end of K: it is mostly in the band of those before, and what
      // they have read last of the band's rows of A is still in L2.
      bool backwards = false;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
        produce(s, from, tile, tiles, backwards, step);
        backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS<BM>>();
    constexpr int STAGED = Shared<BM, BN>::STAGED;
    const int group = warpgroup_of_block(), group_m = group * PARTS<BM> * MMA_M;
    const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
    const bool sends = threadIdx.x % WARPGROUP == 0;
    unsigned piece = 0;
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
      float acc[PARTS<BM>][BN / 2];
      if constexpr (IN_PARTS)
        consume_in_parts(s, tiles, group_m, acc, step);
      else
        consume(s, from.products * tiles, group_m, acc, step);

        // To C by way of shared memory, in pieces: each warp writes 16 rows of one, and one thread
        // sends all of it.
#pragma unroll
      for (int i = 0; i < PARTS<BM>; ++i)
#pragma unroll
        for (int j = 0; j * BOX < BN; ++j, ++piece) {
          float(*const staged)[BOX] = s.staged[group][piece % STAGED];
          // The piece that was here before is on its way; of two, the other may still wait.
          if (sends) ptx::bulk_wait_group_read<STAGED - 1>();
          ptx::named_barrier_sync(1 + group, WARPGROUP);  // for all four warps' rows of it
#pragma unroll
          for (int pair = 0; pair < BOX / 4; ++pair) {
            const int row = warp * 16 + pair % 2 * 8 + lane / 4, col = pair / 2 * 8 + lane % 4 * 2;
            const float* const two = &acc[i][j * BOX / 2 + pair * 2];
            *reinterpret_cast<float2*>(&staged[row][swizzled<float>(row, col)]) =
                make_float2(two[0], two[1]);
          }
          ptx::fence_proxy_async();                       // TMA sees what this lane has written
          ptx::named_barrier_sync(1 + group, WARPGROUP);  // and all lanes have
          const int m = tile.m0 + group_m + i * MMA_M, n = tile.n0 + j * BOX;
          if (n + BOX > N && N % 4 != 0)  // TMA would write past the end of a row
            store_staged<16>(&staged[warp * 16], C, ldc, m + warp * 16, n, M, N, lane);
          else if (sends)
            ptx::tma_store(&map_C, n, m, staged);
          // A group for each piece, an empty one for what the warps have stored: the wait above
          // counts them.
          if (sends) ptx::bulk_commit_group();
        }
    }
    if (sends) ptx::bulk_wait_group_read<0>();  // the last pieces are still read
  }
}

// ---- What is done with an operand first ---------------------------------------------------------

// How numbers become tf32: as they are, of which 13 bits are not read; rounded by TMA; and as they
// are, with what is not read in two more products.
enum class Way { CUT, ROUNDED, THREE };

constexpr int SPLIT_THREADS = 256;

// What a tensor core does not read of a float: exact in a float, and rounded to tf32 on its way.
__device__ __forceinline__ float small_part(float x) {
  constexpr uint32_t READ = ~uint32_t{0x1FFF};
  const uint32_t read = reinterpret_cast<const uint32_t&>(x) & READ;
  return x - reinterpret_cast<const float&>(read);
}

// The small parts of a row's next 4 columns a thread.
static __global__ void __launch_bounds__(SPLIT_THREADS)
    split_kernel(int quads, const float* from, int64_t ld_from, float* to, int64_t ld_to) {
  const int blocks = ceil_div(quads, SPLIT_THREADS);
  const int64_t row = blockIdx.x / blocks;
  const int quad = blockIdx.x % blocks * SPLIT_THREADS + threadIdx.x;
  if (quad >= quads) return;
  const float4 x = *reinterpret_cast<const float4*>(&from[row * ld_from + quad * 4]);
  *reinterpret_cast<float4*>(&to[row * ld_to + quad * 4]) =
      make_float4(small_part(x.x), small_part(x.y), small_part(x.z), small_part(x.w));
}

// M rows of A or N columns of B, each K elements in memory, and their small parts.
struct AlongK {
  int rows, K;
  const float* matrix;
  int64_t ld;
  const float* small = nullptr;

  int64_t packed_ld() const { return (K + 3) / 4 * 4; }
  uint64_t packed_bytes() const {
    return sizeof(float) * static_cast<uint64_t>(rows * packed_ld());
  }

  // By how much of the workspace each pass makes it longer.
  template <class Take>
  void prepare(bool turn, bool split, const Take& take, cudaStream_t stream) {
    if (turn) {
      float* const turned = take(packed_bytes());
      transpose(K, rows, matrix, ld, turned, packed_ld(), stream);
      matrix = turned, ld = packed_ld();
    }
    if (split) {
      float* const parts = take(packed_bytes());
      const int quads = ceil_div(K, 4);
      launch(split_kernel, dim3(rows * ceil_div(quads, SPLIT_THREADS)), dim3(SPLIT_THREADS), 0,
             stream, quads, matrix, ld, parts, packed_ld());
      small = parts;
    }
  }
  // With `rounds` TMA rounds to tf32.
  CUtensorMap map(bool rounds, int box_rows) const {
    return rounds ? ptx::tensor_map(reinterpret_cast<const tf32*>(matrix), rows, K, ld, box_rows)
                  : ptx::tensor_map(matrix, rows, K, ld, box_rows);
  }
  CUtensorMap map_of_small(int box_rows) const {
    return ptx::tensor_map(reinterpret_cast<const tf32*>(small), rows, K, packed_ld(), box_rows);
  }
};

// ---- The launcher ------------------------------------------------------------------------------

using Problem = Gemm<tf32, float>;

inline AlongK operand_a(const Problem& p) {
  return {p.M, p.K, reinterpret_cast<const float*>(p.A), p.lda};
}
inline AlongK operand_b(const Problem& p) {
  return {p.N, p.K, reinterpret_cast<const float*>(p.B), p.ldb};
}

// A copy of what is not stored along K, and of three products one of both.
template <Way WAY>
uint64_t workspace_bytes(const Problem& p) {
  constexpr int SMALL = WAY == Way::THREE;
  return (p.transposed_a + SMALL) * operand_a(p).packed_bytes() +
         (!p.transposed_b + SMALL) * operand_b(p).packed_bytes();
}

// What the launcher chooses among: tiles.
struct Configuration {
  int BM, BN;
  void (*launch)(const Problem&, const AlongK& A, const AlongK& B, Way, int tiles_of_C, int blocks);
};

// Throws CudaError where there is no TMA.
template <int BM, int BN, bool IN_PARTS>
void launch_configuration(const Problem& p, const AlongK& A, const AlongK& B, Way way,
                          int tiles_of_C, int blocks) {
  const bool rounds = way == Way::ROUNDED, three = way == Way::THREE;
  Operands from{A.map(rounds, BM), B.map(rounds, BN), {}, {}, three ? 3 : 1};
  if (three) from.small_A = A.map_of_small(BM), from.small_B = B.map_of_small(BN);
  static_assert(!IN_PARTS || PARTS<BM> == 1);
  launch(gemm_kernel<BM, BN, IN_PARTS>, dim3(blocks), dim3(THREADS<BM>), sizeof(Shared<BM, BN>),
         p.stream, p.M, p.N, p.K, tiles_of_C, from, ptx::tensor_map(p.C, p.M, p.N, p.ldc, MMA_M),
         p.C, p.ldc);
}
template <int BM, int BN, bool IN_PARTS = false>
constexpr Configuration configuration() {
  return {BM, BN, launch_configuration<BM, BN, IN_PARTS>};
}
inline constexpr Configuration CONFIGURATIONS[] = {configuration<128, 128>(),
                                                   configuration<128, 256>()};

// "128x256".
inline std::string name(const Configuration& c) {
  return std::to_string(c.BM) + "x" + std::to_string(c.BN);
}
inline int tiles(const Problem& p, const Configuration& c) {
  return ceil_div(p.M, c.BM) * ceil_div(p.N, c.BN);
}
// Rounds of one tile for each multiprocessor.
inline int waves(const Problem& p, const Configuration& c) {
  return ceil_div(tiles(p, c), device_attribute(cudaDevAttrMultiProcessorCount));
}

template <Way WAY>
void gemm_as(const Configuration& c, const Problem& p) {
  if (done_without_kernel(p, Layouts::ANY)) return;
  require_workspace(p, workspace_bytes<WAY>(p));
  char* free = static_cast<char*>(p.workspace);
  const auto take = [&](uint64_t bytes) {
    return reinterpret_cast<float*>(std::exchange(free, free + bytes));
  };
  AlongK A = operand_a(p), B = operand_b(p);
  A.prepare(p.transposed_a, WAY == Way::THREE, take, p.stream);
  B.prepare(!p.transposed_b, WAY == Way::THREE, take, p.stream);
  // No more blocks than it takes to be done in as many waves.
  c.launch(p, A, B, WAY, tiles(p, c), ceil_div(tiles(p, c), waves(p, c)));
}

template <Way WAY = Way::ROUNDED>
void gemm(const Problem& p) {
  if (done_without_kernel(p, Layouts::ANY)) return;
  // Two sums an element: for 128x256 there are not the registers.
  if (WAY == Way::THREE) return gemm_as<WAY>(configuration<128, 128, true>(), p);
  // Steps of 128x256 take 1.86 times those of 128x128: 17's, measured on an H200.
  const bool large = waves(p, CONFIGURATIONS[1]) * 1.86 <= waves(p, CONFIGURATIONS[0]);
  gemm_as<WAY>(CONFIGURATIONS[large], p);
}

}  // namespace ladder::tf32_products
