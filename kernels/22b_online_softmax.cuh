#pragma once
// 22b online softmax: attention, O = softmax(scale * Q * K^T) * V for each head, bf16 in and out.
// Idea    one kernel. Keys go by in pieces, and for each row of queries the largest score so far
//         and the sum so far go along. Where a larger score comes, what has been summed is
//         multiplied by a factor, once. Scores and weights never leave the registers: what wgmma
//         leaves there of Q * K^T is, rounded, its A of P * V.
// vs 22   the kernel, which takes the place of all three and of the workspace; pieces of keys that
//         no query of a block sees are left out.
// Step    of three kernels nothing is left that this one could keep.
// Limit   a warpgroup multiplies or makes weights, and never both: the tensor cores wait for the
//         exponentials. Next: 22c.
#include "attention.cuh"
#include "launch.cuh"
#include "parts/descriptors.cuh"
#include "parts/sixteen_bits.cuh"
#include "parts/store_halves.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/exp2.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::online_softmax {

using ptx::Major;

constexpr int WARPGROUP = 128;
constexpr int THREADS = 2 * WARPGROUP;
constexpr int MMA_M = 64, MMA_K = 16;
constexpr int BM = 128;  // queries of a block
constexpr int BOX = 64;  // columns of a box: 128 bytes
constexpr int PIPE = 2;
constexpr float INFINITE = __builtin_huge_valf();

// Keys in a piece. A thread has WIDTH / 2 sums of O and KEYS / 2 scores, and 255 registers.
template <int WIDTH>
constexpr int KEYS = WIDTH == 256 ? 64 : 128;

template <int WIDTH>
struct Shared {
  struct Piece {
    bf16 K[WIDTH / BOX][KEYS<WIDTH>][BOX];
    bf16 V[WIDTH / BOX][KEYS<WIDTH>][BOX];
  };
  union {
    bf16 Q[WIDTH / BOX][BM][BOX];
    bf16 staged[THREADS / 32][16][WIDTH];  // of O, when Q is done with
  };
  Piece pieces[PIPE];
  uint64_t full_Q;
  uint64_t full[PIPE];  // completes when a piece has landed
};

// What goes along with a lane's two rows, eight below each other. Of the sum it is the part of this
// lane's columns.
struct Rows {
  float largest[2] = {-INFINITE, -INFINITE};
  float sum[2] = {0, 0};
};

// Of a lane's sums of wgmma: whether number i is in the lower of its two rows, and its column.
__device__ __forceinline__ constexpr int row_of(int i) {
  return i / 2 % 2;
}
__device__ __forceinline__ int column_of(int i) {
  return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
}

// How many keys queries see: those of a lane's two rows, and the warpgroup's first one, from row
// `first_row` on.
struct Seen {
  int by_first, by[2];

  __device__ __forceinline__ Seen(const Attention& p, int first_row) {
    const int row = first_row + threadIdx.x % WARPGROUP / 32 * 16 + threadIdx.x % 32 / 4;
    by_first = min(p.keys, p.seen_by(first_row));
    for (int r = 0; r < 2; ++r) by[r] = min(p.keys, p.seen_by(row + r * 8));
  }
  // Of a piece that begins at key `first`.
  template <int COUNT>
  __device__ __forceinline__ void mask(float (&scores)[COUNT], int first) const {
    if (first + COUNT * 2 <= by_first) return;  // all rows see all of it
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
      if (first + column_of(i) >= by[row_of(i)]) scores[i] = -INFINITE;
  }
};

// The largest of a piece's scores in one of the lane's two rows.
template <int COUNT>
__device__ __forceinline__ float largest_of(const float (&scores)[COUNT], int r) {
  float largest = -INFINITE;
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    if (row_of(i) == r) largest = fmaxf(largest, scores[i]);
  // Four neighbouring lanes have the columns of a row.
  for (int lanes = 1; lanes < 4; lanes *= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFF, largest, lanes));
  return largest;
}

// Makes weights of that row's scores, 2^((score - largest) * scale_log2). Returns the factor for
// what has been summed with the `largest` of before.
template <int COUNT>
__device__ __forceinline__ float weigh(float (&scores)[COUNT], float scale_log2, Rows& rows, int r,
                                       float largest) {
  // Where no key has been seen yet, -inf - -inf would be no number.
  const float subtracted = largest == -INFINITE ? 0 : largest * scale_log2;
  const float factor = ptx::exp2_approx(rows.largest[r] * scale_log2 - subtracted);
  rows.largest[r] = largest;
  rows.sum[r] *= factor;
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    if (row_of(i) == r) {
      scores[i] = ptx::exp2_approx(scores[i] * scale_log2 - subtracted);
      rows.sum[r] += scores[i];
    }
  return factor;
}

// What a lane has of 16 columns of scores is what it has to have of A's.
template <int COUNT>
__device__ __forceinline__ void round_to(uint32_t (&weights)[COUNT / 8][4],
                                         const float (&scores)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i += 2)
    weights[i / 8][i / 2 % 4] = as_pair<bf16>(scores[i], scores[i + 1]);
}

// O of a lane's rows, its sums divided by those of the weights, to memory by way of shared memory,
// each warp its 16 rows from m0 on.
template <int WIDTH>
__device__ __forceinline__ void store(bf16 (*staged)[WIDTH], const float (&o)[WIDTH / 2],
                                      const Rows& rows, bf16* O, int m0, int queries) {
  const int lane = threadIdx.x % 32;
  float scaled[WIDTH / 2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = rows.sum[r];
    for (int lanes = 1; lanes < 4; lanes *= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, lanes);
    const float inverse = sum == 0 ? 0 : 1 / sum;
#pragma unroll
    for (int i = 0; i < WIDTH / 2; ++i)
      if (row_of(i) == r) scaled[i] = o[i] * inverse;
  }
  stage_pairs(staged, scaled, lane,
              [](const float* two, int) { return as_pair<bf16>(two[0], two[1]); });
  __syncwarp();  // all of it is written before any lane reads
  store_staged<16>(staged, O, WIDTH, m0, 0, queries, WIDTH, lane);
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS, 1)
    attention_kernel(const Attention p, float scale_log2, const __grid_constant__ CUtensorMap map_Q,
                     const __grid_constant__ CUtensorMap map_K,
                     const __grid_constant__ CUtensorMap map_V) {
  constexpr int KEYS = online_softmax::KEYS<WIDTH>;
  auto& s = dynamic_shared<Shared<WIDTH>>();
  const int tiles = ceil_div(p.queries, BM);
  const int head = blockIdx.x / tiles, m0 = blockIdx.x % tiles * BM, kv_head = p.kv_head(head);
  const int group_m = warpgroup_of_block() * MMA_M;

  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full_Q, 1);
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();

  // The last query of the block sees the most keys. Pieces come from the last to the first: so
  // those of which not every key is seen come first.
  const int pieces = ceil_div(min(p.keys, p.seen_by(m0 + BM - 1)), KEYS);
  const auto first_key = [&](int t) { return (pieces - 1 - t) * KEYS; };
  const auto copy = [&](int t) {
    auto& to = s.pieces[t % PIPE];
    ptx::mbarrier_arrive_expect_tx(&s.full[t % PIPE], sizeof to);
    for (int j = 0; j < WIDTH / BOX; ++j) {
      ptx::tma_load(to.K[j], &map_K, j * BOX, first_key(t), kv_head, &s.full[t % PIPE]);
      ptx::tma_load(to.V[j], &map_V, j * BOX, first_key(t), kv_head, &s.full[t % PIPE]);
    }
  };
  if (threadIdx.x == 0 && pieces > 0) {
    ptx::mbarrier_arrive_expect_tx(&s.full_Q, sizeof s.Q);
    for (int j = 0; j < WIDTH / BOX; ++j)
      ptx::tma_load(s.Q[j], &map_Q, j * BOX, m0, head, &s.full_Q);
    for (int t = 0; t < min(PIPE, pieces); ++t) copy(t);
  }
  if (pieces > 0) ptx::mbarrier_wait_parity(&s.full_Q, 0);

  const Seen seen(p, m0 + group_m);
  float o[WIDTH / 2] = {};
  Rows rows;
#pragma unroll 1
  for (int t = 0; t < pieces; ++t) {
    const auto& now = s.pieces[t % PIPE];
    ptx::mbarrier_wait_parity(&s.full[t % PIPE], t / PIPE % 2);
    float scores[KEYS / 2];
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < WIDTH; k += MMA_K)
      ptx::wgmma_m64k16_f32<bf16, Major::K, Major::K>(
          scores, descriptor_along_k(s.Q[k / BOX], group_m, k % BOX),
          descriptor_along_k(now.K[k / BOX], 0, k % BOX), k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();

    seen.mask(scores, first_key(t));
    float factor[2];
#pragma unroll
    for (int r = 0; r < 2; ++r)
      factor[r] = weigh(scores, scale_log2, rows, r, fmaxf(rows.largest[r], largest_of(scores, r)));
#pragma unroll
    for (int i = 0; i < WIDTH / 2; ++i) o[i] *= factor[row_of(i)];

    uint32_t weights[KEYS / MMA_K][4];
    round_to(weights, scores);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < KEYS; k += MMA_K)
      ptx::wgmma_m64k16_f32<bf16, Major::MN>(o, weights[k / MMA_K], descriptor_b(now.V, k), true);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    __syncthreads();  // both warpgroups are done with the piece
    if (threadIdx.x == 0 && t + PIPE < pieces) copy(t + PIPE);
  }
  // Q is read by nobody any more: its place takes O.
  const int warp = threadIdx.x / 32;
  store<WIDTH>(s.staged[warp], o, rows, p.O_of(head), m0 + warp * 16, p.queries);
}

// Throws CudaError where there is no TMA.
template <int WIDTH>
void launch_width(const Attention& p) {
  const int kv_heads = p.batch * p.kv_heads;
  launch(attention_kernel<WIDTH>, dim3(p.heads_in_all() * ceil_div(p.queries, BM)), dim3(THREADS),
         sizeof(Shared<WIDTH>), p.stream, p, p.scale_log2(),
         ptx::tensor_map_of_several(p.Q, p.heads_in_all(), p.queries, WIDTH, WIDTH, BM),
         ptx::tensor_map_of_several(p.K, kv_heads, p.keys, WIDTH, WIDTH, KEYS<WIDTH>),
         ptx::tensor_map_of_several(p.V, kv_heads, p.keys, WIDTH, WIDTH, KEYS<WIDTH>));
}

inline void attention(const Attention& p) {
  if (done_without_kernel(p)) return;
  if (p.width == 64) return launch_width<64>(p);
  p.width == 128 ? launch_width<128>(p) : launch_width<256>(p);
}

}  // namespace ladder::online_softmax
