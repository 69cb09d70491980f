#pragma once
// 07 mma_sync: C[M,N] = A[M,K] * B[K,N], row-major, fp16 in, fp32 accumulate, fp16 out.
// Idea    what WMMA hides, laid open: ldmatrix brings fragments whose layout is known, mma.sync
//         multiplies them.
// vs 06c  ldmatrix and mma.sync instead of fragments; the columns of C there and back, so that rB
//         stays at the turn; the epilogue knows where its numbers are and stages them as halves
//         (`plain_stores` does not stage them).
// Limit   that of 06c: padding moves every other row off the 32-byte sectors. But now each lane
//         brings an address of its own. Next: 07b.
//
// Where the elements of 16x16 operands are: lane.register of each pair of neighbours, as found by
// tests/fragments_test.cu. B and C are two operations of 8 columns: registers 0 and 1 are the
// first's, 2 and 3 the second's. A register of A and B is two halves; of C it is two floats.
//
//    | row of A, pairs along k, or C, along n  | column of B, pairs along k
//    |    0    2    4    6    8   10   12   14 |    0    2    4    6    8   10   12   14
//  0 |  0.0  1.0  2.0  3.0  0.2  1.2  2.2  3.2 |  0.0  1.0  2.0  3.0  0.1  1.1  2.1  3.1
//  1 |  4.0  5.0  6.0  7.0  4.2  5.2  6.2  7.2 |  4.0  5.0  6.0  7.0  4.1  5.1  6.1  7.1
//  2 |  8.0  9.0 10.0 11.0  8.2  9.2 10.2 11.2 |  8.0  9.0 10.0 11.0  8.1  9.1 10.1 11.1
//  3 | 12.0 13.0 14.0 15.0 12.2 13.2 14.2 15.2 | 12.0 13.0 14.0 15.0 12.1 13.1 14.1 15.1
//  4 | 16.0 17.0 18.0 19.0 16.2 17.2 18.2 19.2 | 16.0 17.0 18.0 19.0 16.1 17.1 18.1 19.1
//  5 | 20.0 21.0 22.0 23.0 20.2 21.2 22.2 23.2 | 20.0 21.0 22.0 23.0 20.1 21.1 22.1 23.1
//  6 | 24.0 25.0 26.0 27.0 24.2 25.2 26.2 27.2 | 24.0 25.0 26.0 27.0 24.1 25.1 26.1 27.1
//  7 | 28.0 29.0 30.0 31.0 28.2 29.2 30.2 31.2 | 28.0 29.0 30.0 31.0 28.1 29.1 30.1 31.1
//  8 |  0.1  1.1  2.1  3.1  0.3  1.3  2.3  3.3 |  0.2  1.2  2.2  3.2  0.3  1.3  2.3  3.3
//  9 |  4.1  5.1  6.1  7.1  4.3  5.3  6.3  7.3 |  4.2  5.2  6.2  7.2  4.3  5.3  6.3  7.3
// 10 |  8.1  9.1 10.1 11.1  8.3  9.3 10.3 11.3 |  8.2  9.2 10.2 11.2  8.3  9.3 10.3 11.3
// 11 | 12.1 13.1 14.1 15.1 12.3 13.3 14.3 15.3 | 12.2 13.2 14.2 15.2 12.3 13.3 14.3 15.3
// 12 | 16.1 17.1 18.1 19.1 16.3 17.3 18.3 19.3 | 16.2 17.2 18.2 19.2 16.3 17.3 18.3 19.3
// 13 | 20.1 21.1 22.1 23.1 20.3 21.3 22.3 23.3 | 20.2 21.2 22.2 23.2 20.3 21.3 22.3 23.3
// 14 | 24.1 25.1 26.1 27.1 24.3 25.3 26.3 27.3 | 24.2 25.2 26.2 27.2 24.3 25.3 26.3 27.3
// 15 | 28.1 29.1 30.1 31.1 28.3 29.3 30.3 31.3 | 28.2 29.2 30.2 31.2 28.3 29.3 30.3 31.3
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/vector_halves.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mma.cuh"

namespace ladder::mma_sync {

constexpr int THREADS = 256;
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;
constexpr int BM = 256, BN = 128, WM = 64, WN = 64;
constexpr int GROUP = 8;
constexpr int PIPE = 3;
constexpr int PAD = 8;
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

template <int BK>
union Shared {
  struct Tiles {
    half A[BM][BK + PAD];
    half B[BK][BN + PAD];
  } tiles[PIPE];
  half staged[THREADS / 32][WM][WN + PAD];  // for the epilogue, when the tiles are done with
};

template <int BK, bool STAGED>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const half* A, int64_t lda, const half* B, int64_t ldb,
                half* C, int64_t ldc) {
  constexpr unsigned TILE_BYTES = sizeof(typename Shared<BK>::Tiles);
  Shared<BK>& s = dynamic_shared<Shared<BK>>();
  const Tile tile = tile_of<BM, BN, GROUP>(blockIdx.x, M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;

  // Eight halves a copy. Rows past M and columns past N repeat valid ones: what comes of them is
  // not stored.
  constexpr int A_STEP = THREADS / (BK / 8), A_COPIES = BM / A_STEP;
  constexpr int B_STEP = THREADS / (BN / 8), B_COPIES = BK / B_STEP;
  const int a_m = threadIdx.x / (BK / 8), a_k = threadIdx.x % (BK / 8) * 8;
  const int b_k = threadIdx.x / (BN / 8), b_n = threadIdx.x % (BN / 8) * 8;
  const int b_valid = max(0, min(8, N - tile.n0 - b_n));
  half* const a_to = &s.tiles[0].A[a_m][a_k];
  half* const b_to = &s.tiles[0].B[b_k][b_n];
  const half* a_from[A_COPIES];
  for (int i = 0; i < A_COPIES; ++i)
    a_from[i] = &A[min(tile.m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const half* b_from = &B[b_k * ldb + (b_valid > 0 ? tile.n0 + b_n : 0)];

  // The last tile along K, which K may cut, is multiplied first: the others are copied unchecked.
  const int tiles = ceil_div(K, BK), last_k0 = max(0, (tiles - 1) * BK);
  const int a_valid = max(0, min(8, K - last_k0 - a_k));
  for (int i = 0; i < A_COPIES; ++i)
    ptx::cp_async_cg_16(a_to + i * A_STEP * (BK + PAD), a_from[i] + last_k0, a_valid * 2);
  for (int i = 0; i < B_COPIES; ++i) {
    const int k = last_k0 + i * B_STEP;
    ptx::cp_async_cg_16(b_to + i * B_STEP * (BN + PAD), b_from + k * ldb,
                        k + b_k < K ? b_valid * 2 : 0);
  }
  ptx::cp_async_commit_group();

  // The other copies go round the buffers, a tile in `parts`. Past the last tile, zeros are filled
  // in.
  int copy_k0 = 0;
  unsigned copy_buffer = TILE_BYTES;
  const auto copy = [&](int part, int parts, bool exists) {
    for (int i = part; i < A_COPIES; i += parts)
      ptx::cp_async_cg_16_ignore_src(plus_bytes(a_to, copy_buffer) + i * A_STEP * (BK + PAD),
                                     a_from[i] + copy_k0, !exists);
    for (int i = part; i < B_COPIES; i += parts)
      ptx::cp_async_cg_16_ignore_src(plus_bytes(b_to, copy_buffer) + i * B_STEP * (BN + PAD),
                                     b_from + i * B_STEP * ldb, !exists);
    if (part < parts - 1) return;
    ptx::cp_async_commit_group();
    copy_k0 += BK;
    b_from += BK * ldb;
    copy_buffer = (copy_buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
  };
  for (int t = 1; t < PIPE - 1; ++t) copy(0, 1, t < tiles);

  // A lane brings the address of row lane % 16, chunk lane / 16 of a 16x16 block.
  half* const a_fragment = &s.tiles[0].A[warp_m + lane % 16][lane / 16 * 8];
  half* const b_fragment = &s.tiles[0].B[lane % 16][warp_n + lane / 16 * 8];
  uint32_t rA[2][WM / MMA_M][4];
  uint32_t rB[2][WN / 16][4];  // two fragments of 8 columns each
  const auto load_fragments = [&](int to, unsigned buffer, int k) {
    for (int i = 0; i < WM / MMA_M; ++i)
      ptx::ldmatrix_x4(rA[to][i], plus_bytes(a_fragment, buffer) + i * MMA_M * (BK + PAD) + k);
    for (int j = 0; j < WN / 16; ++j)
      ptx::ldmatrix_x4_trans(rB[to][j], plus_bytes(b_fragment, buffer) + k * (BN + PAD) + j * 16);
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
          ptx::mma_m16n8k16_f32_f16(acc[i][j], rA[k % 2][i], b[j % 2 * 2], b[j % 2 * 2 + 1]);
        }
    }
  }

  ptx::cp_async_wait_group<0>();
  if (!STAGED) {  // every lane stores its pairs itself
    for (int i = 0; i < WM / MMA_M; ++i)
      for (int j = 0; j < WN / MMA_N; ++j)
        for (int h = 0; h < 2; ++h) {
          const int m = tile.m0 + warp_m + i * MMA_M + h * 8 + lane / 4;
          const int n = tile.n0 + warp_n + j * MMA_N + lane % 4 * 2;
          const half2 pair = __floats2half2_rn(acc[i][j][h * 2], acc[i][j][h * 2 + 1]);
          if (m < M && n + 2 <= N)
            *reinterpret_cast<half2*>(&C[m * ldc + n]) = pair;
          else if (m < M && n < N)
            C[m * ldc + n] = __float2half(acc[i][j][h * 2]);
        }
    return;
  }

  // To C by way of shared memory, each warp for itself: a lane has pairs of neighbours, a store
  // wants eight.
  __syncthreads();  // the staging area overlays the tiles: no copy, no reader may be left
  half(*const staged)[WN + PAD] = s.staged[warp];
#pragma unroll
  for (int i = 0; i < WM / MMA_M; ++i)
#pragma unroll
    for (int j = 0; j < WN / MMA_N; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = i * MMA_M + h * 8 + lane / 4, col = j * MMA_N + lane % 4 * 2;
        *reinterpret_cast<half2*>(&staged[row][col]) =
            __floats2half2_rn(acc[i][j][h * 2], acc[i][j][h * 2 + 1]);
      }
  __syncwarp();  // all of it is written before any lane reads
  for (int i = lane; i < WM * WN / 8; i += 32) {
    const int row = i / (WN / 8), col = i % (WN / 8) * 8;
    const int m = tile.m0 + warp_m + row, n = tile.n0 + warp_n + col;
    const half* const from = &staged[row][col];
    if (m < M && n + 8 <= N)
      *reinterpret_cast<uint4*>(&C[m * ldc + n]) = *reinterpret_cast<const uint4*>(from);
    else if (m < M)
      for (int e = 0; e < N - n; ++e) C[m * ldc + n + e] = from[e];
  }
}

template <int BK, bool STAGED>
void launch_tiles(const Gemm<half, half>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel<BK, STAGED>, dim3(ceil_div(p.M, BM) * ceil_div(p.N, BN)), dim3(THREADS),
         sizeof(Shared<BK>), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}

inline void gemm_shallow(const Gemm<half, half>& p) {
  launch_tiles<32, true>(p);
}
inline void gemm_plain_stores(const Gemm<half, half>& p) {
  launch_tiles<64, false>(p);
}
// Three tiles that are 64 deep take 159 KB of shared memory; where a device has less, they are 32
// deep.
inline void gemm(const Gemm<half, half>& p) {
  const int available = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (sizeof(Shared<64>) <= static_cast<size_t>(available))
    launch_tiles<64, true>(p);
  else
    launch_tiles<32, true>(p);
}

}  // namespace ladder::mma_sync
