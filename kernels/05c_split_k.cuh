#pragma once
// 05c split_k: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    the tiles that do not fill a last wave of blocks are divided along K: every block gets as
//         many K steps, even if they are the end of one tile and the beginning of the next. A
//         second kernel adds the parts, in a fixed order.
// vs 05b  whole waves are 05b's kernel. For the tiles that are left, its loop is called with a
//         range of K steps: the part that begins a tile goes to C, any other to the caller's
//         workspace. No block waits for another.
// Limit   the FMA pipe, as in 05b, now on all multiprocessors to the end. Next: 06, tensor cores.
#include <algorithm>

#include "05b_split_barrier.cuh"

namespace ladder::split_k {

using split_barrier::BK, split_barrier::BM, split_barrier::BN, split_barrier::GROUP,
    split_barrier::Shared, split_barrier::SumsAlone, split_barrier::THREADS;

// Tiles 0 to whole - 1 have a block each. The `divided` tiles after them are divided among
// `workers` blocks: all their K steps in a row, cut into equal ranges of at most one tile's length.
struct Split {
  int whole, divided, workers, steps;  // steps: BK deep, a tile

  // Where the range of a worker begins, in steps from the first divided tile.
  __host__ __device__ int64_t begin(int worker) const {
    return static_cast<int64_t>(divided) * steps * worker / workers;
  }
};

// The part that begins a tile goes to C, any other to the worker's workspace. A worker has at most
// one such part: its first.
static __global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc, Split split, float* workspace) {
  float* const part = &workspace[int64_t{blockIdx.x} * BM * BN];
  const int64_t last = split.begin(blockIdx.x + 1);
  unsigned phase = 0;
  for (int64_t step = split.begin(blockIdx.x); step < last;) {
    const int begin = static_cast<int>(step % split.steps);
    const int end = static_cast<int>(min(begin + last - step, static_cast<int64_t>(split.steps)));
    const int number = split.whole + static_cast<int>(step / split.steps);
    const Tile tile = tile_of<BM, BN, GROUP>(number, M, N);
    const auto store = [&](int row, int col, float4 quad) {
      if (begin > 0)
        as_float4(part[(row - tile.m0) * BN + col - tile.n0]) = quad;
      else if (row < M)
        store4(&C[row * ldc + col], quad, N - col);
    };
    split_barrier::multiply<true, 1>(M, N, K, A, lda, B, ldb, tile, begin, end,
                                     dynamic_shared<Shared>(), phase, store);
    __syncthreads();  // the next part's copies overwrite what `store` is given from
    step += end - begin;
  }
}

// Adds to the divided tiles of C the parts in the workspace, in the order of K. A block takes ROWS
// rows of a tile, a thread one column of them.
constexpr int ROWS = 8;
template <class Finish>
__global__ void __launch_bounds__(BN)
    add_parts_kernel(int M, int N, float* C, int64_t ldc, Split split, const float* workspace,
                     const Finish finish) {
  const int divided = blockIdx.x / (BM / ROWS), row0 = blockIdx.x % (BM / ROWS) * ROWS;
  const Tile tile = tile_of<BM, BN, GROUP>(split.whole + divided, M, N);
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
    if (r < rows) c[r * ldc] = finish(sum[r], tile.m0 + row0 + r, col);
}

// One block fills a multiprocessor. Divided tiles cost up to 15% more than whole ones (8192^3,
// H200): a last wave that is nearly full is not worth it.
inline Split split_of(const Gemm<float, float>& p) {
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const int tiles = ceil_div(p.M, BM) * ceil_div(p.N, BN), steps = ceil_div(p.K, BK);
  int divided = tiles % multiprocessors;
  if (divided > 0.85 * multiprocessors || steps < 2) divided = 0;
  const int64_t divided_steps = static_cast<int64_t>(divided) * steps;
  const int workers = static_cast<int>(std::min<int64_t>(multiprocessors, divided_steps));
  return {tiles - divided, divided, workers, steps};
}

// What Gemm::workspace has to have: a tile for each worker.
inline uint64_t workspace_bytes(const Gemm<float, float>& p) {
  return uint64_t{sizeof(float)} * BM * BN * static_cast<unsigned>(split_of(p).workers);
}

template <class Finish>
void launch_and_finish(const Gemm<float, float>& p, const Finish& finish) {
  const Split split = split_of(p);
  if (split.whole > 0)
    launch(split_barrier::gemm_kernel<true, 1, Finish>, dim3(split.whole), dim3(THREADS),
           sizeof(Shared), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc, finish);
  if (split.divided == 0) return;
  launch(gemm_kernel, dim3(split.workers), dim3(THREADS), sizeof(Shared), p.stream, p.M, p.N, p.K,
         p.A, p.lda, p.B, p.ldb, p.C, p.ldc, split, static_cast<float*>(p.workspace));
  launch(add_parts_kernel<Finish>, dim3(split.divided * (BM / ROWS)), dim3(BN), 0, p.stream, p.M,
         p.N, p.C, p.ldc, split, static_cast<float*>(p.workspace), finish);
}

inline void gemm(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  require_workspace(p, workspace_bytes(p));
  if (p.M > 0 && p.N > 0) launch_and_finish(p, SumsAlone{});
}

}  // namespace ladder::split_k
