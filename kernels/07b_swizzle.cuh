#pragma once
// 07b swizzle: C[M,N] = A[M,K] * B[K,N], row-major, fp16 or bf16 in and out, fp32 accumulate.
// Idea    an XOR instead of padding: ldmatrix takes an address from every lane, so that 16-byte
//         chunks may lie anywhere in their row, and the XOR puts them where no two collide.
// vs 07   rows of a power of two, with the chunks of each in another order: in the tiles and in the
//         staging area. Tiles are always 64 deep, for the swizzle needs rows of 128 bytes; where
//         shared memory is short there are two buffers instead. `unswizzled` has two buffers and
//         no XOR, `two_buffers` two and the XOR.
// Limit   the tensor pipe, which is busy 83% of the time (H200, 4096^3): but a clock of mma.sync
//         does two thirds of what a clock of wgmma does. Next: 08 and 09.
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/sixteen_bits.cuh"
#include "parts/vector_halves.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mma.cuh"

namespace ladder::swizzle {

constexpr int THREADS = 256;
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;
constexpr int GROUP = 8;
constexpr int BM = 256, BN = 128, BK = 64, WM = 64, WN = 64;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

// Where column `col` of row `row` is stored, rows being 64 or 128 elements: the number of a chunk
// of eight elements is XORed with the row's. The same chunk of eight successive rows, which is what
// ldmatrix reads together, is then in eight different groups of four banks; so are eight chunks of
// one row, which is what cp.async writes together.
template <bool SWIZZLE>
__device__ __forceinline__ int swizzled(int row, int col) {
  return SWIZZLE ? col ^ row % 8 * 8 : col;
}

template <class T, int PIPE>
union Shared {
  struct Tiles {
    T A[BM][BK];
    T B[BK][BN];
  } tiles[PIPE];
  T staged[THREADS / 32][WM][WN];  // for the epilogue, when the tiles are done with
};

// What is done to sums before they are rounded: nothing. A kernel that does more with them takes
// another one: it gets two neighbours in a row of C, and where the first of them is.
struct SumsAlone {
  __device__ __forceinline__ void operator()(float*, int, int) const {}
};

// The instruction for numbers of type T.
template <class T>
__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  if constexpr (std::is_same_v<T, half>)
    ptx::mma_m16n8k16_f32_f16(d, a, b0, b1);
  else
    ptx::mma_m16n8k16_f32_bf16(d, a, b0, b1);
}

template <int PIPE, bool SWIZZLE, class T, class Finish>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const T* A, int64_t lda, const T* B, int64_t ldb, T* C,
                int64_t ldc, const Finish finish) {
  constexpr unsigned TILE_BYTES = sizeof(typename Shared<T, PIPE>::Tiles);
  auto& s = dynamic_shared<Shared<T, PIPE>>();
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;

  // Eight elements a copy. Rows past M and columns past N repeat valid ones: what comes of them is
  // not stored.
  constexpr int A_STEP = THREADS / (BK / 8), A_COPIES = BM / A_STEP;
  constexpr int B_STEP = THREADS / (BN / 8), B_COPIES = BK / B_STEP;
  const int a_m = threadIdx.x / (BK / 8), a_k = threadIdx.x % (BK / 8) * 8;
  const int b_k = threadIdx.x / (BN / 8), b_n = threadIdx.x % (BN / 8) * 8;
  const int b_valid = max(0, min(8, N - tile.n0 - b_n));
  T* const a_to = &s.tiles[0].A[a_m][swizzled<SWIZZLE>(a_m, a_k)];
  T* const b_to = &s.tiles[0].B[b_k][swizzled<SWIZZLE>(b_k, b_n)];
  const T* a_from[A_COPIES];
  for (int i = 0; i < A_COPIES; ++i)
    a_from[i] = &A[min(tile.m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const T* b_from = &B[b_k * ldb + (b_valid > 0 ? tile.n0 + b_n : 0)];

  // The last tile along K, which K may cut, is multiplied first: the others are copied unchecked.
  const int tiles = ceil_div(K, BK), last_k0 = max(0, (tiles - 1) * BK);
  const int a_valid = max(0, min(8, K - last_k0 - a_k));
  for (int i = 0; i < A_COPIES; ++i)
    ptx::cp_async_cg_16(a_to + i * A_STEP * BK, a_from[i] + last_k0, a_valid * 2);
  for (int i = 0; i < B_COPIES; ++i) {
    const int k = last_k0 + i * B_STEP;
    ptx::cp_async_cg_16(b_to + i * B_STEP * BN, b_from + k * ldb, k + b_k < K ? b_valid * 2 : 0);
  }
  ptx::cp_async_commit_group();

  // The other copies go round the buffers, a tile in `parts`. Past the last tile, zeros are filled
  // in.
  int copy_k0 = 0;
  unsigned copy_buffer = TILE_BYTES;
  const auto copy = [&](int part, int parts, bool exists) {
    for (int i = part; i < A_COPIES; i += parts)
      ptx::cp_async_cg_16_ignore_src(plus_bytes(a_to, copy_buffer) + i * A_STEP * BK,
                                     a_from[i] + copy_k0, !exists);
    for (int i = part; i < B_COPIES; i += parts)
      ptx::cp_async_cg_16_ignore_src(plus_bytes(b_to, copy_buffer) + i * B_STEP * BN,
                                     b_from + i * B_STEP * ldb, !exists);
    if (part < parts - 1) return;
    ptx::cp_async_commit_group();
    copy_k0 += BK;
    b_from += BK * ldb;
    copy_buffer = (copy_buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
  };
  for (int t = 1; t < PIPE - 1; ++t) copy(0, 1, t < tiles);

  // A lane brings the address of row lane % 16, chunk lane / 16 of a 16x16 block; XOR with the
  // block's column, a multiple of 16, is as good as adding it before the swizzle.
  const int block_col = swizzled<SWIZZLE>(lane, lane / 16 * 8);
  T* const a_fragment = &s.tiles[0].A[warp_m + lane % 16][0];
  T* const b_fragment = &s.tiles[0].B[lane % 16][warp_n];
  uint32_t rA[2][WM / MMA_M][4];
  uint32_t rB[2][WN / 16][4];  // two fragments of 8 columns each
  const auto load_fragments = [&](int to, unsigned buffer, int k) {
    for (int i = 0; i < WM / MMA_M; ++i)
      ptx::ldmatrix_x4(rA[to][i],
                       plus_bytes(a_fragment, buffer) + i * MMA_M * BK + (block_col ^ k));
    for (int j = 0; j < WN / 16; ++j)
      ptx::ldmatrix_x4_trans(rB[to][j],
                             plus_bytes(b_fragment, buffer) + k * BN + (block_col ^ j * 16));
  };
  ptx::cp_async_wait_group<PIPE - 2>();
  __syncthreads();
  load_fragments(0, 0, 0);

  float acc[WM / MMA_M][WN / MMA_N][4] = {};
  constexpr int STEPS = BK / MMA_K;
  unsigned buffer = 0;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      if (k == STEPS - 1) {
        // The next tile is complete once every thread has waited for its own copies. Passing the
        // barrier also means that everyone is done with this tile, whose buffer is filled next.
        ptx::cp_async_wait_group<PIPE - 2>();
        __syncthreads();
        buffer = (buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
      }
      if (k < STEPS - 1) copy(k, STEPS - 1, t + PIPE - 1 < tiles);
      load_fragments((k + 1) % 2, buffer, (k + 1) % STEPS * MMA_K);

      for (int i = 0; i < WM / MMA_M; ++i)
        for (int n = 0; n < WN / MMA_N; ++n) {
          const int j = i % 2 == 0 ? n : WN / MMA_N - 1 - n;  // a snake: rB stays at the turn
          const uint32_t(&b)[4] = rB[k % 2][j / 2];
          mma<T>(acc[i][j], rA[k % 2][i], b[j % 2 * 2], b[j % 2 * 2 + 1]);
        }
    }
  }

  // To C by way of shared memory, each warp for itself: a lane has pairs of neighbours, a store
  // wants eight.
  ptx::cp_async_wait_group<0>();
  __syncthreads();  // the staging area overlays the tiles: no copy, no reader may be left
  T(*const staged)[WN] = s.staged[warp];
#pragma unroll
  for (int i = 0; i < WM / MMA_M; ++i)
#pragma unroll
    for (int j = 0; j < WN / MMA_N; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = i * MMA_M + h * 8 + lane / 4, col = j * MMA_N + lane % 4 * 2;
        finish(&acc[i][j][h * 2], tile.m0 + warp_m + row, tile.n0 + warp_n + col);
        *reinterpret_cast<uint32_t*>(&staged[row][swizzled<SWIZZLE>(row, col)]) =
            as_pair<T>(acc[i][j][h * 2], acc[i][j][h * 2 + 1]);
      }
  __syncwarp();  // all of it is written before any lane reads
  for (int i = lane; i < WM * WN / 8; i += 32) {
    const int row = i / (WN / 8), col = i % (WN / 8) * 8;
    const int m = tile.m0 + warp_m + row, n = tile.n0 + warp_n + col;
    const T* const from = &staged[row][swizzled<SWIZZLE>(row, col)];
    if (m < M && n + 8 <= N)
      *reinterpret_cast<uint4*>(&C[m * ldc + n]) = *reinterpret_cast<const uint4*>(from);
    else if (m < M)
      for (int e = 0; e < N - n; ++e) C[m * ldc + n + e] = from[e];
  }
}

template <int PIPE, bool SWIZZLE, class T, class Finish>
void launch_pipe(const Gemm<T, T>& p, const Finish& finish) {
  launch(gemm_kernel<PIPE, SWIZZLE, T, Finish>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)),
         dim3(THREADS), sizeof(Shared<T, PIPE>), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb,
         p.C, p.ldc, finish);
}

template <int PIPE, bool SWIZZLE, class T>
void gemm_pipe(const Gemm<T, T>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch_pipe<PIPE, SWIZZLE>(p, SumsAlone{});
}

// Step by step: the same kernel without the XOR; with it; with a third buffer.
template <class T>
void gemm_unswizzled(const Gemm<T, T>& p) {
  gemm_pipe<2, false>(p);
}
template <class T>
void gemm_two_buffers(const Gemm<T, T>& p) {
  gemm_pipe<2, true>(p);
}
// Three buffers take 144 KB of shared memory; where a device has less, there are two.
inline bool three_buffers_fit() {
  const int available = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return sizeof(Shared<half, 3>) <= static_cast<size_t>(available);
}
template <class T>
void gemm(const Gemm<T, T>& p) {
  if (three_buffers_fit())
    gemm_pipe<3, true>(p);
  else
    gemm_pipe<2, true>(p);
}

}  // namespace ladder::swizzle
