#pragma once
// 18 layouts: C[M,N] = A[M,K] * B[K,N], where A and B may each be stored by rows or by columns,
// fp16 or bf16; C by rows, fp32 accumulate.
// Idea    a tile lies in shared memory as it lies in global memory, and what turns it is a bit of
//         wgmma for each operand. There are two forms: rows along K, one box of TMA; and rows along
//         M or N, boxes of 64 of them. No matrix is transposed, and no element is moved for it.
// vs 13   an operand in either form, with the copy, the descriptor and the bit that it needs; the
//         pass that would turn them first; without pairs, and launched without an epilogue.
// Step    the form is a parameter of each function, and most statements that change only hand it
//         on.
// Limit   13's.
#include <algorithm>
#include <string>
#include <utility>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/epilogue.cuh"
#include "parts/no_kernel.cuh"
#include "parts/sixteen_bits.cuh"
#include "parts/store_halves.cuh"
#include "parts/transpose.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/grid_dependency.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"
#include "types.cuh"

namespace ladder::layouts {

using ptx::Major;

constexpr int WARPGROUP = 128;
constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int MMA_K = 16;
constexpr int BAND = 2048;  // rows of C in a band of tiles
constexpr int BK = 64;
constexpr int BOX = 64;    // elements in a row of a box: 128 bytes; and columns of C in one wgmma
constexpr int STAGED = 2;  // pieces of C a warpgroup has on their way

// Registers a thread, by role. At the launch all have as many, 168: the largest multiple of 8 with
// which three warpgroups share a multiprocessor's 64 K. The sums of 168x256 alone are 168.
constexpr int LAUNCH_REGISTERS = 64 * 1024 / THREADS / 8 * 8;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <=
              (CONSUMERS + 1) * LAUNCH_REGISTERS);

// ---- An operand: WIDTH rows of A, or columns of B, by BK of K ----------------------------------

// Its rows in memory run along K (Major::K): A by rows, B by columns. One box has it all.
template <class T, int WIDTH, Major MAJOR>
struct Operand {
  T box[WIDTH][BK];

  __device__ __forceinline__ void load(const CUtensorMap& map, int first, int k0, uint64_t* full) {
    ptx::tma_load(box, &map, k0, first, full);
  }
  __device__ __forceinline__ uint64_t descriptor(int first, int k) const {
    return descriptor_along_k(box, first, k);
  }
  static CUtensorMap map(const T* matrix, int width, int K, int64_t ld) {
    return ptx::tensor_map(matrix, width, K, ld, WIDTH);
  }
};

// They run along M or N (Major::MN): A by columns, B by rows. A box has 64 of these, and the last
// one perhaps more than the tile wants.
template <class T, int WIDTH>
struct Operand<T, WIDTH, Major::MN> {
  T box[ceil_div(WIDTH, BOX)][BK][BOX];

  __device__ __forceinline__ void load(const CUtensorMap& map, int first, int k0, uint64_t* full) {
    for (int j = 0; j < ceil_div(WIDTH, BOX); ++j)
      ptx::tma_load(box[j], &map, first + j * BOX, k0, full);
  }
  __device__ __forceinline__ uint64_t descriptor(int first, int k) const {
    return descriptor_b(box, k, first / BOX);
  }
  static CUtensorMap map(const T* matrix, int width, int K, int64_t ld) {
    return ptx::tensor_map(matrix, K, width, ld, BK);
  }
};

// ---- The kernel --------------------------------------------------------------------------------

template <class T, int BM, int BN, Major MAJOR_A, Major MAJOR_B>
struct Tiles {
  Operand<T, BM, MAJOR_A> A;
  Operand<T, BN, MAJOR_B> B;
};

// Buffers that fit into shared memory beside `rows` of each piece, and the barriers.
template <class Tiles>
constexpr int buffers_beside(int rows) {
  constexpr int SHARED_BYTES = 227 * 1024, BARRIERS = 256, MOST = 16;
  const int staged = CONSUMERS * STAGED * rows * BOX * static_cast<int>(sizeof(half));
  return std::min(MOST, (SHARED_BYTES - BARRIERS - staged) / static_cast<int>(sizeof(Tiles)));
}

template <class T, int BM, int BN, Major MAJOR_A, Major MAJOR_B>
struct Shared {
  using Tiles = layouts::Tiles<T, BM, BN, MAJOR_A, MAJOR_B>;
  // Rows of a piece: the longer, the fewer waits; but not at the price of a buffer.
  static constexpr int PIECE = buffers_beside<Tiles>(64) < buffers_beside<Tiles>(32) ? 32 : 64;
  static constexpr int LAST_PIECE = BM - (BM - 1) / PIECE * PIECE;
  static constexpr int PIPE = buffers_beside<Tiles>(PIECE);
  Tiles tiles[PIPE];
  T staged[CONSUMERS][STAGED][PIECE][BOX];  // on their way to C
  uint64_t full[PIPE];                      // completes when a tile has landed
  uint64_t empty[PIPE];                     // completes when both consumers have multiplied it
};

// The producer's start. It prepares each buffer's `full` and at once starts the copies of the first
// `early` steps, one barrier after the other.
template <class Shared>
__device__ __forceinline__ void start(Shared& s, const CUtensorMap& map_A, const CUtensorMap& map_B,
                                      Tile tile, int early) {
#pragma unroll
  for (int t = 0; t < Shared::PIPE; ++t) {
    ptx::mbarrier_init(&s.full[t], 1);
    ptx::fence_mbarrier_init();  // TMA sees it, too
    if (t >= early) continue;
    ptx::mbarrier_arrive_expect_tx(&s.full[t], sizeof s.tiles[t]);
    s.tiles[t].A.load(map_A, tile.m0, t * BK, &s.full[t]);
    s.tiles[t].B.load(map_B, tile.n0, t * BK, &s.full[t]);
  }
}

// The producer, one thread: fills every buffer as soon as it is empty, from step t0 of the tile on.
// `step` counts the tiles of operands since the start: they go to buffer step % PIPE, in its round
// step / PIPE.
template <class Shared>
__device__ __forceinline__ void produce(Shared& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, Tile tile, int t0, int tiles,
                                        bool backwards, unsigned& step) {
  for (int t = t0; t < tiles; ++t, ++step) {
    const unsigned to = step % Shared::PIPE;
    // Nobody may still read what lies there. The first time round nobody does: the phase before the
    // first, of parity 1, counts as complete.
    ptx::mbarrier_wait_parity(&s.empty[to], (step / Shared::PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    const int k0 = (backwards ? tiles - 1 - t : t) * BK;
    s.tiles[to].A.load(map_A, tile.m0, k0, &s.full[to]);
    s.tiles[to].B.load(map_B, tile.n0, k0, &s.full[to]);
  }
}

// A consumer, a warpgroup: multiplies its boxes of every tile of B, and all of A, as soon as they
// have landed. acc[w] is transposed: 64 columns of C by BM rows.
template <class T, int BM, int BN, Major MAJOR_A, Major MAJOR_B, int BOXES>
__device__ __forceinline__ void consume(Shared<T, BM, BN, MAJOR_A, MAJOR_B>& s, int tiles,
                                        int first_box, float (&acc)[BOXES][BM / 2],
                                        unsigned& step) {
  constexpr int PIPE = Shared<T, BM, BN, MAJOR_A, MAJOR_B>::PIPE;
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
        ptx::wgmma_m64k16_f32<T, MAJOR_B, MAJOR_A>(acc[w],
                                                   now.B.descriptor((first_box + w) * BOX, k),
                                                   now.A.descriptor(0, k), t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0) release(step - 1);
  }
  ptx::wgmma_wait_group<0>();
  release(step - 1);
}

// The rows from `row0` on of a warp's 16 columns of C, which it has as columns of `acc`: turned, to
// the rows of a piece. A stmatrix turns 8 rows by 16 columns, or two of these.
template <int BM, int PIECE, class T>
__device__ __forceinline__ void stage_piece(T (*staged)[BOX], const float (&acc)[BM / 2], int row0,
                                            int warp, int lane) {
  const int col = warp * 16 + lane / 8 % 2 * 8;
#pragma unroll
  for (int row = 0; row < PIECE && row0 + row < BM; row += 16) {
    const float* const a = &acc[(row0 + row) / 2];
    const uint32_t upper[2] = {as_pair<T>(a[0], a[1]), as_pair<T>(a[2], a[3])};
    if (row0 + row + 8 < BM) {
      const uint32_t both[4] = {upper[0], upper[1], as_pair<T>(a[4], a[5]), as_pair<T>(a[6], a[7])};
      ptx::stmatrix_x4_trans(&staged[row + lane / 16 * 8 + lane % 8][swizzled(lane, col)], both);
    } else {
      ptx::stmatrix_x2_trans(&staged[row + lane % 8][swizzled(lane, col)], upper);
    }
  }
}

// `finish` is what is done with the sums.
template <class T, int BM, int BN, Major MAJOR_A, Major MAJOR_B, class Finish>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C,
                const __grid_constant__ CUtensorMap map_C_last, T* C, int64_t ldc,
                const Finish finish) {
  using Shared = layouts::Shared<T, BM, BN, MAJOR_A, MAJOR_B>;
  constexpr int PIECE = Shared::PIECE;
  Shared& s = dynamic_shared<Shared>();
  const int tiles = ceil_div(K, BK);

  const bool is_producer = threadIdx.x == CONSUMERS * WARPGROUP;
  const int early = min(tiles, Shared::PIPE);  // filled before any thread waits for another

  ptx::let_next_grid_start();    // without Gemm::starts_early these two do nothing
  ptx::wait_for_grids_before();  // from here on, matrices are read and written
  if (is_producer) start(s, map_A, map_B, tile_of<BM, BN, BAND / BM>(blockIdx.x, M, N), early);
  if (threadIdx.x == 0) {  // meanwhile, the other barriers
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CONSUMERS);
  }
  __syncthreads();

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (is_producer) {
      // Every other tile of C from the end of K: it is mostly in the band of those before, and what
      // they have read last of the band's rows of A is still in L2.
      bool backwards = false;
      int t0 = step = early;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
        produce(s, map_A, map_B, tile, t0, tiles, backwards, step);
        backwards = !backwards;
        t0 = 0;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    const int group = warpgroup_of_block();
    const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
    const bool sends = threadIdx.x % WARPGROUP == 0;
    unsigned piece = 0;
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
      constexpr int BOXES = BN / BOX / CONSUMERS;
      typename Finish::Columns columns[BOXES];
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
        columns[w] =
            finish.columns(tile.m0, tile.n0 + (group * BOXES + w) * BOX + warp * 16, N, lane);
      float acc[BOXES][BM / 2];
      consume(s, tiles, group * BOXES, acc, step);

      // To C by way of shared memory, box by box, in pieces: each warp turns its 16 columns of a
      // piece, and one thread sends all of it.
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
#pragma unroll
        for (int row0 = 0; row0 < BM; row0 += PIECE, ++piece) {
          finish.template piece<PIECE>(&acc[w][row0 / 2], row0, BM - row0, columns[w], tile.m0,
                                       tile.n0 + (group * BOXES + w) * BOX + warp * 16, M, N, lane);
          T(*const staged)[BOX] = s.staged[group][piece % STAGED];
          // The piece that was here before is on its way; of the others, one may still wait.
          if (sends) ptx::bulk_wait_group_read<STAGED - 1>();
          ptx::named_barrier_sync(1 + group, WARPGROUP);  // for all four warps' rows of it
          stage_piece<BM, PIECE>(staged, acc[w], row0, warp, lane);
          ptx::fence_proxy_async();                       // TMA sees what this lane has written
          ptx::named_barrier_sync(1 + group, WARPGROUP);  // and all lanes have
          const int m = tile.m0 + row0, n = tile.n0 + (group * BOXES + w) * BOX;
          if (n + BOX > N && N % 8 != 0)  // TMA would write past the end of a row
            for (int row = warp * 8; row < PIECE && row0 + row < BM; row += WARPGROUP / 32 * 8)
              store_staged<8>(&staged[row], C, ldc, m + row, n, M, N, lane);
          else if (sends)
            ptx::tma_store(row0 + PIECE <= BM ? &map_C : &map_C_last, n, m, staged[0]);
          // A group for each piece, an empty one for what the warps have stored: the wait above
          // counts them.
          if (sends) ptx::bulk_commit_group();
        }
    }
    if (sends) ptx::bulk_wait_group_read<0>();  // the last pieces are still read
  }
}

// ---- The launcher ------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
// What the launcher chooses among: tiles. Their layouts are the problem's. Of a wave, in
// nanoseconds: a step of 64 along K, and what there is beside the steps.
template <class T>
struct Configuration {
  int BM, BN;
  double step, rest;
  void (*launch)(const Gemm<T, T>&, int tiles_of_C, int blocks);
};

// Throws CudaError where there is no TMA.
template <class T, int BM, int BN, Major MAJOR_A, Major MAJOR_B, class Finish>
void launch_and_finish(const Gemm<T, T>& p, int tiles_of_C, int blocks, const Finish& finish) {
  using Shared = layouts::Shared<T, BM, BN, MAJOR_A, MAJOR_B>;
  launch(gemm_kernel<T, BM, BN, MAJOR_A, MAJOR_B, Finish>, dim3(blocks), dim3(THREADS),
         sizeof(Shared), {p.stream, p.starts_early}, p.M, p.N, p.K, tiles_of_C,
         Operand<T, BM, MAJOR_A>::map(p.A, p.M, p.K, p.lda),
         Operand<T, BN, MAJOR_B>::map(p.B, p.N, p.K, p.ldb),
         ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared::PIECE),
         ptx::tensor_map(p.C, p.M, p.N, p.ldc, Shared::LAST_PIECE), p.C, p.ldc, finish);
}
template <class T, int BM, int BN, Major MAJOR_A, Major MAJOR_B>
void launch_layout(const Gemm<T, T>& p, int tiles_of_C, int blocks) {
  launch_and_finish<T, BM, BN, MAJOR_A, MAJOR_B>(p, tiles_of_C, blocks, ProductAlone{});
}
template <class T, int BM, int BN>
void launch_configuration(const Gemm<T, T>& p, int tiles_of_C, int blocks) {
  constexpr Major K = Major::K, MN = Major::MN;
  constexpr void (*LAUNCH[2][2])(const Gemm<T, T>&, int tiles_of_C, int blocks) = {
      {launch_layout<T, BM, BN, K, MN>, launch_layout<T, BM, BN, K, K>},     // NN, NT
      {launch_layout<T, BM, BN, MN, MN>, launch_layout<T, BM, BN, MN, K>}};  // TN, TT
  LAUNCH[p.transposed_a][p.transposed_b](p, tiles_of_C, blocks);
}
template <class T, int BM, int BN>
constexpr Configuration<T> configuration(double step, double rest) {
  return {BM, BN, step, rest, launch_configuration<T, BM, BN>};
}
// Five of 13's, since each is compiled for four layouts and two types, with what build/tune
// measured of 13's on an H200; of 128x128, what that took of 18 at 4096x4096x4096 and
// 512x4096x14336.
template <class T>
inline constexpr Configuration<T> CONFIGURATIONS[] = {
    configuration<T, 64, 128>(203, 431), configuration<T, 128, 128>(351, 570),
    configuration<T, 128, 256>(653, 1038), configuration<T, 160, 256>(814, 1786),
    configuration<T, 168, 256>(864, 1636)};

// "168x256".
template <class T>
std::string name(const Configuration<T>& c) {
  return std::to_string(c.BM) + "x" + std::to_string(c.BN);
}
template <class T>
int tiles(const Gemm<T, T>& p, const Configuration<T>& c) {
  return ceil_div(p.M, c.BM) * ceil_div(p.N, c.BN);
}
// Rounds of one tile for each multiprocessor.
template <class T>
int waves(const Gemm<T, T>& p, const Configuration<T>& c) {
  return ceil_div(tiles(p, c), device_attribute(cudaDevAttrMultiProcessorCount));
}

template <class T>
void gemm_as(const Configuration<T>& c, const Gemm<T, T>& p) {
  if (done_without_kernel(p, Layouts::ANY)) return;
  // No more blocks than it takes to be done in as many waves.
  c.launch(p, tiles(p, c), ceil_div(tiles(p, c), waves(p, c)));
}

// Which tiles the launcher takes for an A along M.
enum class Heights { AS_BY_ROWS, ON_LINES };

// What all waves take, in nanoseconds.
template <Heights HEIGHTS, class T>
double cost(const Gemm<T, T>& p, const Configuration<T>& c) {
  // There tiles begin in the midst of a line of 128 bytes, unless their height is a multiple of 64,
  // and a row of a box lies in two of them. An H200's time for a step of 168x256 by that in NN.
  constexpr double OFF_LINES = 1.045;
  const bool off_lines = HEIGHTS == Heights::ON_LINES && p.transposed_a && c.BM % BOX != 0;
  return waves(p, c) * (ceil_div(p.K, BK) * c.step * (off_lines ? OFF_LINES : 1) + c.rest);
}

template <class T, Heights HEIGHTS = Heights::ON_LINES>
void gemm(const Gemm<T, T>& p) {
  if (done_without_kernel(p, Layouts::ANY)) return;
  const Configuration<T>* first = nullptr;  // to be done
  for (const Configuration<T>& c : CONFIGURATIONS<T>)
    if (!first || cost<HEIGHTS>(p, c) < cost<HEIGHTS>(p, *first)) first = &c;
  gemm_as(*first, p);
}

// ---- A pass that transposes, before NN ---------------------------------------------------------

template <class T>
struct ByRows {
  int rows, columns;
  int64_t ld() const { return (columns + 7) / 8 * 8; }
  uint64_t elements() const { return static_cast<uint64_t>(rows) * static_cast<uint64_t>(ld()); }
  void from_columns(const T* from, int64_t ld_from, T* to, cudaStream_t stream) const {
    transpose(columns, rows, from, ld_from, to, ld(), stream);
  }
};

// For what is stored transposed.
template <class T>
uint64_t workspace_bytes(const Gemm<T, T>& p) {
  const uint64_t a = p.transposed_a ? ByRows<T>{p.M, p.K}.elements() : 0;
  const uint64_t b = p.transposed_b ? ByRows<T>{p.K, p.N}.elements() : 0;
  return (a + b) * sizeof(T);
}

template <class T>
void gemm_transposed_first(Gemm<T, T> p) {
  if (done_without_kernel(p, Layouts::ANY)) return;
  require_workspace(p, workspace_bytes(p));
  T* to = static_cast<T*>(p.workspace);
  if (p.transposed_a) {
    const ByRows<T> a{p.M, p.K};
    a.from_columns(p.A, p.lda, to, p.stream);
    p.A = to, p.lda = a.ld(), p.transposed_a = false;
    to += a.elements();
  }
  if (p.transposed_b) {
    const ByRows<T> b{p.K, p.N};
    b.from_columns(p.B, p.ldb, to, p.stream);
    p.B = to, p.ldb = b.ld(), p.transposed_b = false;
  }
  gemm(p);
}

// ---- C by columns ------------------------------------------------------------------------------

// The product whose C, by rows, is p's C by columns: C^T = B^T * A^T. What p has by rows it has by
// columns, and nothing in memory changes.
template <class T>
Gemm<T, T> transposed(Gemm<T, T> p) {
  std::swap(p.M, p.N);
  std::swap(p.A, p.B);
  std::swap(p.lda, p.ldb);
  std::swap(p.transposed_a, p.transposed_b);
  p.transposed_a = !p.transposed_a;
  p.transposed_b = !p.transposed_b;
  return p;
}
// The same as gemm(), but C is stored by columns: N rows of M elements, ldc apart.
template <class T>
void gemm_to_columns(const Gemm<T, T>& p) {
  gemm(transposed(p));
}

#endif  // __CUDACC_RTC__

}  // namespace ladder::layouts
