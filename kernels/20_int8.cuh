#pragma once
// 20 int8: C[M,N] = A[M,K] * B[K,N], row-major but for B, which is stored transposed, N x K; int8
// in, int32 accumulate; out int32, or int8 by way of a factor.
// Idea    integers of 8 bits take the bytes and the clocks of fp8, and their sums are exact: in any
//         order, on any device, up to a K of 131,071. To make 8 bits of a sum again it is
//         multiplied by a factor, rounded, moved by a zero point and cut to the range
//         (requantisation), each in the registers that the sums are in.
// vs 17   int8 and int32 for fp8 and fp32; C of 32 bits, or of 8 by Requantisation; its pieces are
//         128 bytes wide whatever an element is, and pairs of elements go there by plain stores:
//         stmatrix moves elements of 16 bits.
// Step    two kinds of C are a parameter of most functions.
// Limit   17's.
#include <algorithm>
#include <string>
#include <type_traits>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_halves.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/pack.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::int8 {

constexpr int WARPGROUP = 128;
constexpr int MMA_M = 64, MMA_K = 32;  // and as many columns as the tile has
constexpr int BAND = 2048;             // rows of C in a band of tiles
constexpr int BK = 128;                // 128 bytes

template <class Out>
constexpr int BOX = 128 / static_cast<int>(sizeof(Out));  // columns of C in a piece: 128 bytes

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

template <int BM, int BN>
struct Tiles {
  int8_t A[BM][BK];
  int8_t B[BN][BK];
};

// Buffers that fit into shared memory beside `staged` pieces of C a warpgroup, and the barriers.
template <int BM, int BN>
constexpr int buffers_beside(int staged) {
  constexpr int SHARED_BYTES = 227 * 1024, BARRIERS = 256, PIECE = MMA_M * 128;
  return (SHARED_BYTES - BARRIERS - CONSUMERS<BM> * staged * PIECE) /
         static_cast<int>(sizeof(Tiles<BM, BN>));
}

template <class Out, int BM, int BN>
struct Shared {
  // Pieces of C a warpgroup has on their way: one, where that makes room for a buffer.
  static constexpr int STAGED = buffers_beside<BM, BN>(1) > buffers_beside<BM, BN>(2) ? 1 : 2;
  static constexpr int PIPE = buffers_beside<BM, BN>(STAGED);
  Tiles<BM, BN> tiles[PIPE];
  Out staged[CONSUMERS<BM>][STAGED][MMA_M][BOX<Out>];  // on their way to C
  uint64_t full[PIPE];                                 // completes when a tile has landed
  uint64_t empty[PIPE];  // completes when all consumers have multiplied it
};

// The producer, one thread: fills every buffer as soon as it is empty. `step` counts the tiles of
// operands since the start: they go to buffer step % PIPE, in its round step / PIPE.
template <class Out, int BM, int BN>
__device__ __forceinline__ void produce(Shared<Out, BM, BN>& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, Tile tile, int tiles,
                                        bool backwards, unsigned& step) {
  constexpr int PIPE = Shared<Out, BM, BN>::PIPE;
  for (int t = 0; t < tiles; ++t, ++step) {
    const unsigned to = step % PIPE;
    // Nobody may still read what lies there. The first time round nobody does: the phase before the
    // first, of parity 1, counts as complete.
    ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    const int k0 = (backwards ? tiles - 1 - t : t) * BK;
    ptx::tma_load(s.tiles[to].A, &map_A, k0, tile.m0, &s.full[to]);
    ptx::tma_load(s.tiles[to].B, &map_B, k0, tile.n0, &s.full[to]);
  }
}

// A consumer, a warpgroup: multiplies its rows of every tile, from group_m on, as soon as it has
// landed.
template <class Out, int BM, int BN>
__device__ __forceinline__ void consume(Shared<Out, BM, BN>& s, int tiles, int group_m,
                                        int32_t (&acc)[PARTS<BM>][BN / 2], unsigned& step) {
  constexpr int PIPE = Shared<Out, BM, BN>::PIPE;
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
        ptx::wgmma_m64k32_s32_s8(acc[i], descriptor_along_k(now.A, group_m + i * MMA_M, k),
                                 descriptor_along_k(now.B, 0, k), t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release(step - 1);
  }
  ptx::wgmma_wait_group<0>();
  release(step - 1);
}

// What makes 8 bits of a sum: round(sum * scale * of_columns[n]) + zero_point, cut to -128 .. 127.
struct Requantisation {
  float scale;
  const float* of_columns;  // N, or null
  int zero_point;

  __device__ __forceinline__ float factor(int n, int N) const {
    return of_columns && n < N ? scale * of_columns[n] : scale;
  }
  // Of sums beyond 2^24 a float has not all bits: that is less than 2^-24 of the result. From 2^23
  // to 2^24 floats are the integers, so that adding 1.5 * 2^23 rounds, and makes the integer the
  // lower bits. What is far out of the range stays out of it: the bits of positive floats are in
  // the order of the floats. The product is rounded by itself first, as cublasLt's is.
  __device__ __forceinline__ int32_t operator()(int32_t sum, float factor) const {
    constexpr float MIDDLE = 0x1.8p23f;
    constexpr int32_t BITS_OF_MIDDLE = 0x4B400000;
    const float moved = fmaxf(__fadd_rn(static_cast<float>(sum) * factor, MIDDLE), 0);
    return static_cast<int32_t>(__float_as_uint(moved)) - BITS_OF_MIDDLE + zero_point;
  }
};

// Two neighbours of a row of C, from column n on, to where they are staged.
__device__ __forceinline__ void stage_pair(int32_t* to, const int32_t* sums, const Requantisation&,
                                           int, int) {
  *reinterpret_cast<int2*>(to) = make_int2(sums[0], sums[1]);
}
__device__ __forceinline__ void stage_pair(int8_t* to, const int32_t* sums,
                                           const Requantisation& as, int n, int N) {
  *reinterpret_cast<uint16_t*>(to) =
      ptx::pack_s8(as(sums[0], as.factor(n, N)), as(sums[1], as.factor(n + 1, N)));
}

template <class Out, int BM, int BN>
__global__ void __launch_bounds__(THREADS<BM>, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, Out* C, int64_t ldc, Requantisation as) {
  Shared<Out, BM, BN>& s = dynamic_shared<Shared<Out, BM, BN>>();
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
        produce(s, map_A, map_B, tile, tiles, backwards, step);
        backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS<BM>>();
    constexpr int STAGED = Shared<Out, BM, BN>::STAGED, COLS = BOX<Out>;
    const int group = warpgroup_of_block(), group_m = group * PARTS<BM> * MMA_M;
    const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
    const bool sends = threadIdx.x % WARPGROUP == 0;
    unsigned piece = 0;
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
      int32_t acc[PARTS<BM>][BN / 2];
      consume(s, tiles, group_m, acc, step);

      // To C by way of shared memory, in pieces: each warp writes 16 rows of one, and one thread
      // sends all of it.
#pragma unroll
      for (int i = 0; i < PARTS<BM>; ++i)
#pragma unroll
        for (int j = 0; j * COLS < BN; ++j, ++piece) {
          // Of 192 columns the last piece of 128 has 64 once more that the one before has, too.
          const int col0 = min(j * COLS, BN - COLS);
          Out(*const staged)[COLS] = s.staged[group][piece % STAGED];
          const int m = tile.m0 + group_m + i * MMA_M, n = tile.n0 + col0;
          // The piece that was here before is on its way; of two, the other may still wait.
          if (sends) ptx::bulk_wait_group_read<STAGED - 1>();
          ptx::named_barrier_sync(1 + group, WARPGROUP);  // for all four warps' rows of it
#pragma unroll
          for (int pair = 0; pair < COLS / 4; ++pair) {
            const int row = warp * 16 + pair % 2 * 8 + lane / 4, col = pair / 2 * 8 + lane % 4 * 2;
            stage_pair(&staged[row][swizzled<Out>(row, col)], &acc[i][col0 / 2 + pair * 2], as,
                       n + col, N);
          }
          ptx::fence_proxy_async();                       // TMA sees what this lane has written
          ptx::named_barrier_sync(1 + group, WARPGROUP);  // and all lanes have
          if (n + COLS > N && N * sizeof(Out) % 16 != 0)  // TMA would write past the end of a row
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

// What the launcher chooses among: tiles.
template <class Out>
struct Configuration {
  int BM, BN;
  double step;  // nanoseconds that one step along K of a wave takes: 17's, measured on an H200
  void (*launch)(const Gemm<int8_t, Out>&, int tiles_of_C, int blocks);
};

// Throws CudaError where there is no TMA.
template <class Out, int BM, int BN>
void launch_configuration(const Gemm<int8_t, Out>& p, int tiles_of_C, int blocks) {
  launch(gemm_kernel<Out, BM, BN>, dim3(blocks), dim3(THREADS<BM>), sizeof(Shared<Out, BM, BN>),
         p.stream, p.M, p.N, p.K, tiles_of_C, ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
         ptx::tensor_map(p.B, p.N, p.K, p.ldb, BN), ptx::tensor_map(p.C, p.M, p.N, p.ldc, MMA_M),
         p.C, p.ldc, {p.epilogue.alpha, p.epilogue.column_scale, p.epilogue.zero_point});
}
template <class Out, int BM, int BN>
constexpr Configuration<Out> configuration(double step) {
  return {BM, BN, step, launch_configuration<Out, BM, BN>};
}
// Three of 17's: each is compiled for two kinds of C.
template <class Out>
inline constexpr Configuration<Out> CONFIGURATIONS[] = {configuration<Out, 128, 128>(364),
                                                        configuration<Out, 128, 192>(528),
                                                        configuration<Out, 128, 256>(670)};

// "128x256".
template <class Out>
std::string name(const Configuration<Out>& c) {
  return std::to_string(c.BM) + "x" + std::to_string(c.BN);
}
template <class Out>
int tiles(const Gemm<int8_t, Out>& p, const Configuration<Out>& c) {
  return ceil_div(p.M, c.BM) * ceil_div(p.N, c.BN);
}
// Rounds of one tile for each multiprocessor.
template <class Out>
int waves(const Gemm<int8_t, Out>& p, const Configuration<Out>& c) {
  return ceil_div(tiles(p, c), device_attribute(cudaDevAttrMultiProcessorCount));
}

// Throws what the contract says. Whether C is done without a kernel: with K = 0 all sums are 0.
template <class Out>
bool done_without_kernel(const Gemm<int8_t, Out>& p) {
  if constexpr (std::is_same_v<Out, int8_t>)
    require_valid_requantisation(p);
  else
    require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return true;
  if (p.K > 0) return false;
  LADDER_CUDA_CHECK(cudaMemset2DAsync(p.C, p.ldc * sizeof(Out), p.epilogue.zero_point,
                                      p.N * sizeof(Out), p.M, p.stream));
  return true;
}

template <class Out>
void gemm_as(const Configuration<Out>& c, const Gemm<int8_t, Out>& p) {
  if (done_without_kernel(p)) return;
  // No more blocks than it takes to be done in as many waves.
  c.launch(p, tiles(p, c), ceil_div(tiles(p, c), waves(p, c)));
}

template <class Out>
double cost(const Gemm<int8_t, Out>& p, const Configuration<Out>& c) {
  return waves(p, c) * c.step;
}

template <class Out>
void gemm(const Gemm<int8_t, Out>& p) {
  if (done_without_kernel(p)) return;
  const Configuration<Out>* first = nullptr;  // to be done
  for (const Configuration<Out>& c : CONFIGURATIONS<Out>)
    if (!first || cost(p, c) < cost(p, *first)) first = &c;
  gemm_as(*first, p);
}

}  // namespace ladder::int8
