#pragma once
// 05b split_k: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    the tiles that do not fill a last wave of blocks are divided along K: every block gets as
//         many K steps, even if they are the end of one tile and the beginning of the next. A
//         second kernel adds the parts, in a fixed order.
// vs 05   a block's work is a range of K steps instead of a tile. The part that begins a tile goes
//         to C, any other to a workspace. No block waits for another. The loop is unchanged; of the
//         shapes only Large, because small problems are better served by small tiles.
// Limit   the FMA pipe, as in 05, now on all multiprocessors to the end. Next: 06, tensor cores.
#include <algorithm>

#include "launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"

namespace ladder::split_k {

constexpr int THREADS = 256;
constexpr int BM = 128, BN = 256, BK = 8, WM = 64, WN = 64, TM = 16, TN = 8;
constexpr int PIPE = 4;
constexpr int GROUP = 8;
constexpr int ARRIVAL = BK / 2;  // as in 05, where it says why this and not its neighbours
static_assert(BM / WM * (BN / WN) * 32 == THREADS);

constexpr int LDA = BM + 4;
constexpr int TILE_BYTES = BK * (LDA + BN) * sizeof(float);
struct Shared {
  float buffers[PIPE * TILE_BYTES / sizeof(float)];
  uint64_t next_tile_landed;
};

__device__ __forceinline__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}

// The first `valid` of four consecutive elements of C.
__device__ __forceinline__ void store4(float* p, float4 v, int valid) {
  if (valid >= 4) {
    as_float4(*p) = v;
  } else {
    if (valid > 0) p[0] = v.x;
    if (valid > 1) p[1] = v.y;
    if (valid > 2) p[2] = v.z;
  }
}

__device__ __forceinline__ float* plus_bytes(float* p, unsigned bytes) {
  return reinterpret_cast<float*>(reinterpret_cast<char*>(p) + bytes);
}

struct Tile {
  int m0, n0;
};
__device__ __forceinline__ Tile tile_of(int number, int M, int N) {
  const int tiles_m = ceil_div(M, BM), tiles_n = ceil_div(N, BN);
  const int first_m = number / (GROUP * tiles_n) * GROUP;
  const int height = min(GROUP, tiles_m - first_m);
  const int rest = number % (GROUP * tiles_n);
  return {(first_m + rest % height) * BM, rest / height * BN};
}

// Tiles 0 to whole - 1 have a block each. The `divided` tiles after them are divided among
// `workers` blocks: all their K steps in a row, cut into equal ranges of at most one tile's length.
struct Split {
  int whole, divided, workers, steps;  // steps: BK deep, a tile

  // Where the range of a worker begins, in steps from the first divided tile.
  __host__ __device__ int64_t begin(int worker) const {
    return static_cast<int64_t>(divided) * steps * worker / workers;
  }
};

// K steps `begin` to `end` of a tile; store(row, col, quad) gets the sums. Step 0 is the tile's
// last along K, which K may cut; step t > 0 begins at (t - 1) * BK. `phase` counts the phases of
// the mbarrier.
template <class Store>
__device__ __forceinline__ void multiply(const Gemm<float, float>& p, Tile tile, int begin, int end,
                                         Shared& s, unsigned& phase, Store store) {
  const int M = p.M, N = p.N, K = p.K;
  const float *A = p.A, *B = p.B;
  const int64_t lda = p.lda, ldb = p.ldb;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp % (BM / WM) * WM, warp_n = warp / (BM / WM) * WN;
  const int lane_m = lane / 2 % 4 * 4, lane_n = (lane / 8 * 2 + lane % 2) * 4;

  constexpr int A_STEP = THREADS / 8, A_COPIES = BM / A_STEP;
  constexpr int B_STEP = THREADS / (BN / 4), B_COPIES = BK / B_STEP;
  const int a_m = threadIdx.x / 8, a_k = threadIdx.x % 8;
  const int b_k = threadIdx.x / (BN / 4), b_n = threadIdx.x % (BN / 4) * 4;
  float* const a_to = &s.buffers[a_k * LDA + a_m];
  float* const b_to = &s.buffers[BK * LDA + b_k * BN + b_n];
  float* const a_fragment = &s.buffers[warp_m + lane_m];
  float* const b_fragment = &s.buffers[BK * LDA + warp_n + lane_n];
  const int b_valid = max(0, min(4, N - tile.n0 - b_n));
  const float* a_from[A_COPIES];
  for (int i = 0; i < A_COPIES; ++i)
    a_from[i] = &A[min(tile.m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const float* b_from = &B[b_k * ldb + (b_valid > 0 ? tile.n0 + b_n : 0)];

  const int first_k0 = max(0, (begin > 0 ? begin : ceil_div(K, BK)) - 1) * BK;
  for (int i = 0; i < A_COPIES; ++i)
    ptx::cp_async_ca_4(a_to + i * A_STEP, a_from[i] + first_k0, first_k0 + a_k < K ? 4 : 0);
  for (int i = 0; i < B_COPIES; ++i) {
    const int k = first_k0 + i * B_STEP;
    ptx::cp_async_cg_16(b_to + i * B_STEP * BN, b_from + k * ldb, k + b_k < K ? b_valid * 4 : 0);
  }
  ptx::cp_async_commit_group();

  constexpr int AHEAD = PIPE - 2;
  int copy_k0 = begin * BK;
  b_from += begin * BK * ldb;
  unsigned copy_buffer = TILE_BYTES;
  const auto copy_next = [&](bool exists) {
    for (int i = 0; i < A_COPIES; ++i)
      ptx::cp_async_ca_4(plus_bytes(a_to, copy_buffer) + i * A_STEP, a_from[i] + copy_k0,
                         exists ? 4 : 0);
    for (int i = 0; i < B_COPIES; ++i) {
      const int k = i * B_STEP;
      ptx::cp_async_cg_16_ignore_src(plus_bytes(b_to, copy_buffer) + k * BN, b_from + k * ldb,
                                     !exists);
    }
    ptx::cp_async_commit_group();
    copy_k0 += BK;
    b_from += BK * ldb;
    copy_buffer = (copy_buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
  };
  for (int t = begin + 1; t < begin + AHEAD; ++t) copy_next(t < end);

  float rA[2][TM], rB[2][TN];
  const auto load_fragments = [&](int to, unsigned buffer, int k) {
    for (int j = 0; j < TN; j += 4)
      as_float4(rB[to][j]) = as_float4(plus_bytes(b_fragment, buffer)[k * BN + j * 8]);
    for (int i = 0; i < TM; i += 4)
      as_float4(rA[to][i]) = as_float4(plus_bytes(a_fragment, buffer)[k * LDA + i * 4]);
  };
  ptx::cp_async_wait_group<AHEAD - 1>();
  __syncthreads();
  load_fragments(0, 0, 0);

  float acc[TM][TN] = {};
  unsigned buffer = 0;
#pragma unroll 1
  for (int t = begin; t < end; ++t) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == ARRIVAL) {
        ptx::cp_async_wait_group<AHEAD - 1>();
        ptx::mbarrier_arrive(&s.next_tile_landed);
      }
      if (k == BK - 1) {
        while (!ptx::mbarrier_test_wait_parity(&s.next_tile_landed, phase % 2)) {
        }
        ++phase;
        buffer = (buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
      }
      load_fragments((k + 1) % 2, buffer, (k + 1) % BK);
      if (k == 0) copy_next(t + AHEAD < end);

      for (int i = 0; i < TM; ++i)
        for (int step = 0; step < TN; ++step) {
          const int j = i % 2 == 0 ? step : TN - 1 - step;
          acc[i][j] += rA[k % 2][i] * rB[k % 2][j];
        }
    }
  }

  ptx::cp_async_wait_group<0>();
  __syncthreads();
  constexpr int LDC = 32 + 4;
  float* const sC = &s.buffers[warp * 16 * LDC];
  const int c_row = lane / 8, c_col = lane % 8 * 4;
#pragma unroll
  for (int i = 0; i < TM; i += 4)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      for (int r = 0; r < 4; ++r) {
        const float(&row)[TN] = acc[i + r];
        as_float4(sC[(lane_m + r) * LDC + lane_n]) =
            make_float4(row[j + 1], row[j], row[j + 3], row[j + 2]);
      }
      __syncwarp();
      const int row0 = warp_m + i * 4, col = warp_n + j * 8 + c_col;
      for (int r = c_row; r < 16; r += 4) {
        const float4 v = as_float4(sC[r * LDC + c_col]);
        store(row0 + r, col, make_float4(v.y, v.x, v.w, v.z));
      }
      __syncwarp();
    }
  __syncthreads();  // the next part's copies overwrite sC
}

__device__ __forceinline__ Shared& prepared_shared() {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) ptx::mbarrier_init(&s.next_tile_landed, THREADS);
  return s;
}

__device__ __forceinline__ void store_to_c(const Gemm<float, float>& p, Tile tile, int row, int col,
                                           float4 quad) {
  row += tile.m0, col += tile.n0;
  if (row < p.M) store4(&p.C[row * p.ldc + col], quad, p.N - col);
}

__global__ void __launch_bounds__(THREADS, 1) whole_kernel(Gemm<float, float> p, Split split) {
  Shared& s = prepared_shared();
  const Tile tile = tile_of(blockIdx.x, p.M, p.N);
  unsigned phase = 0;
  multiply(p, tile, 0, split.steps, s, phase,
           [&](int row, int col, float4 quad) { store_to_c(p, tile, row, col, quad); });
}

// The part that begins a tile goes to C, any other to the worker's workspace. A worker has at most
// one such part: its first.
__global__ void __launch_bounds__(THREADS, 1)
    divided_kernel(Gemm<float, float> p, Split split, float* workspace) {
  Shared& s = prepared_shared();
  float* const part = &workspace[int64_t{blockIdx.x} * BM * BN];
  const int64_t last = split.begin(blockIdx.x + 1);
  unsigned phase = 0;
  for (int64_t step = split.begin(blockIdx.x); step < last;) {
    const int begin = static_cast<int>(step % split.steps);
    const int end = static_cast<int>(min(begin + last - step, static_cast<int64_t>(split.steps)));
    const Tile tile = tile_of(split.whole + static_cast<int>(step / split.steps), p.M, p.N);
    if (begin == 0)
      multiply(p, tile, begin, end, s, phase,
               [&](int row, int col, float4 quad) { store_to_c(p, tile, row, col, quad); });
    else
      multiply(p, tile, begin, end, s, phase,
               [&](int row, int col, float4 quad) { as_float4(part[row * BN + col]) = quad; });
    step += end - begin;
  }
}

// Adds to the divided tiles of C the parts in the workspace, in the order of K. A block takes ROWS
// rows of a tile, a thread one column of them.
constexpr int ROWS = 8;
__global__ void __launch_bounds__(BN)
    add_parts_kernel(int M, int N, float* C, int64_t ldc, Split split, const float* workspace) {
  const int divided = blockIdx.x / (BM / ROWS), row0 = blockIdx.x % (BM / ROWS) * ROWS;
  const Tile tile = tile_of(split.whole + divided, M, N);
  const int rows = min(ROWS, M - tile.m0 - row0), col = tile.n0 + threadIdx.x;
  if (col >= N) return;
  float* const c = &C[(tile.m0 + row0) * ldc + col];

  // The first worker is the last that begins at or before the tile; its part is in C.
  const int64_t tile_end = (divided + 1) * static_cast<int64_t>(split.steps);
  int worker = static_cast<int>(static_cast<int64_t>(divided) * split.workers / split.divided);
  if (split.begin(worker + 1) <= tile_end - split.steps) ++worker;
  float sum[ROWS] = {};
  for (int r = 0; r < ROWS; ++r)
    if (r < rows) sum[r] = c[r * ldc];
  while (++worker < split.workers && split.begin(worker) < tile_end) {
    const float* part = &workspace[(static_cast<int64_t>(worker) * BM + row0) * BN + threadIdx.x];
    for (int r = 0; r < ROWS; ++r) sum[r] += part[r * BN];
  }
  for (int r = 0; r < ROWS; ++r)
    if (r < rows) c[r * ldc] = sum[r];
}

inline void gemm(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);

  // One block fills a multiprocessor. Divided tiles cost up to 15% more than whole ones (8192^3,
  // H200): a last wave that is nearly full is not worth it.
  const int tiles = ceil_div(p.M, BM) * ceil_div(p.N, BN), steps = ceil_div(p.K, BK);
  int divided = tiles % multiprocessors;
  if (divided > 0.85 * multiprocessors || steps < 2) divided = 0;
  const int64_t divided_steps = static_cast<int64_t>(divided) * steps;
  const int workers = static_cast<int>(std::min<int64_t>(multiprocessors, divided_steps));
  const Split split = {tiles - divided, divided, workers, steps};

  if (split.whole > 0)
    launch(whole_kernel, dim3(split.whole), dim3(THREADS), sizeof(Shared), p.stream, p, split);
  if (divided == 0) return;

  // The pool of cudaMallocAsync gives unused memory back at every synchronisation unless told to
  // keep it; asking for it again then takes longer than a small product.
  int device = 0;
  cudaMemPool_t pool;
  uint64_t keep = UINT64_MAX;
  LADDER_CUDA_CHECK(cudaGetDevice(&device));
  LADDER_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  LADDER_CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  float* workspace = nullptr;
  LADDER_CUDA_CHECK(cudaMallocAsync(&workspace, sizeof(float) * BM * BN * workers, p.stream));
  launch(divided_kernel, dim3(workers), dim3(THREADS), sizeof(Shared), p.stream, p, split,
         workspace);
  launch(add_parts_kernel, dim3(divided * (BM / ROWS)), dim3(BN), 0, p.stream, p.M, p.N, p.C, p.ldc,
         split, workspace);
  LADDER_CUDA_CHECK(cudaFreeAsync(workspace, p.stream));
}

}  // namespace ladder::split_k
