#pragma once
// 22e decode: attention, O = softmax(scale * Q * K^T) * V for each head, bf16 in and out.
// Idea    few queries and many keys: what costs is to read K and V, once. All of them in a row are
//         cut into equal ranges, one for each warp of the device, even if a range is the end of one
//         head's keys and the beginning of another's. A second kernel combines what the warps have
//         of a head.
// vs 22d  the queries of all heads that share their keys are the rows of one tile, of 16 and not of
//         128: mma.sync. A warp has a ring of its own and fills it itself: no warp waits for
//         another. Its O, largest score and sum go to the caller's workspace.
// Step    the kernel is another: 22b's softmax is what it keeps.
// Limit   the memory, which is read all the time; and the second kernel, a few microseconds.
#include <algorithm>

#include "22b_online_softmax.cuh"
#include "attention.cuh"
#include "launch.cuh"
#include "parts/sixteen_bits.cuh"
#include "parts/swizzle.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/exp2.cuh"
#include "ptx/grid_dependency.cuh"
#include "ptx/mma.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"

namespace ladder::decode {

using online_softmax::BOX, online_softmax::INFINITE, online_softmax::Rows;
using online_softmax::row_of, online_softmax::column_of;

constexpr int ROWS = 16;  // of a tile: those of mma.sync

// Keys in a piece, warps of a block, and pieces in the ring of each.
template <int COLUMNS, int PIECE, int COUNT, int BUFFERS>
struct Shape {
  static constexpr int WIDTH = COLUMNS, KEYS = PIECE, WARPS = COUNT, PIPE = BUFFERS;
  using Piece = bf16[WIDTH / BOX][KEYS][BOX];  // of K or of V
  struct Shared {
    Piece pieces[WARPS][PIPE];
    uint64_t full[WARPS][PIPE];  // completes when a piece has landed
  };
};
template <int WIDTH, int PIPE>
struct ShapeOf : Shape<128, 32, 4, PIPE> {};
template <int PIPE>
struct ShapeOf<64, PIPE> : Shape<64, 32, 8, PIPE> {};
template <int PIPE>
struct ShapeOf<256, PIPE> : Shape<256, 16, 4, PIPE> {};

// A tile is up to 16 queries of heads that share keys, which lie behind each other in Q and in O.
// All pieces of all tiles in a row are cut into a range for each worker, a warp.
struct Split {
  int tiles_of_head;  // of a head of keys
  int tiles, pieces;  // in all, and of a tile
  int workers;

  __host__ __device__ int64_t begin(int worker) const {
    return static_cast<int64_t>(tiles) * pieces * worker / workers;
  }
};

// What a worker has of a tile, not yet divided by the sum. In the workspace it is number
// worker + tile: whatever comes next, the worker's or the tile's number has become larger.
template <int WIDTH>
struct Part {
  float O[ROWS][WIDTH];
  float largest[ROWS], sum[ROWS];
};

// The queries of a tile: where they are, and how many.
struct Tile {
  int kv_head, first_row, rows;
  int64_t row_of_all;  // of Q and O, the first one

  __device__ __forceinline__ Tile(const Attention& p, const Split& split, int tile) {
    const int sharing = p.heads / p.kv_heads * p.queries;
    kv_head = tile / split.tiles_of_head;
    first_row = tile % split.tiles_of_head * ROWS;
    rows = min(ROWS, sharing - first_row);
    row_of_all = int64_t{kv_head} * sharing + first_row;
  }
};

// The lane's part of Q, as A of mma.sync. Rows that do not exist are zeros.
template <int WIDTH>
__device__ __forceinline__ void load_queries(uint32_t (&q)[WIDTH / 16][4], const Attention& p,
                                             const Tile& tile) {
  const int row = threadIdx.x % 32 / 4, col = threadIdx.x % 4 * 2;
  const bf16* const Q = &p.Q[(tile.row_of_all + row) * p.width + col];
#pragma unroll
  for (int k = 0; k < WIDTH / 16; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      q[k][i] =
          row + i % 2 * 8 < tile.rows
              ? *reinterpret_cast<const uint32_t*>(&Q[i % 2 * 8 * p.width + k * 16 + i / 2 * 8])
              : 0;
}

// A warp's sums of two neighbouring fragments of 8 columns: d += a * b.
__device__ __forceinline__ void multiply(float* d, const uint32_t (&a)[4], const uint32_t (&b)[4]) {
#pragma unroll
  for (int j = 0; j < 2; ++j)
    ptx::mma_m16n8k16_f32_bf16(reinterpret_cast<float(&)[4]>(d[j * 4]), a, b[j * 2], b[j * 2 + 1]);
}

template <int WIDTH>
__device__ __forceinline__ void store(Part<WIDTH>& part, const float (&o)[WIDTH / 2],
                                      const Rows& rows, int count) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = rows.sum[r];
    for (int lanes = 1; lanes < 4; lanes *= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, lanes);
    const int row = threadIdx.x % 32 / 4 + r * 8;
    if (row >= count) continue;
    if (threadIdx.x % 4 == 0) part.largest[row] = rows.largest[r], part.sum[row] = sum;
#pragma unroll
    for (int i = r * 2; i < WIDTH / 2; i += 4)
      *reinterpret_cast<float2*>(&part.O[row][column_of(i)]) = make_float2(o[i], o[i + 1]);
  }
}

template <class Shape>
__global__ void __launch_bounds__(Shape::WARPS * 32, 1)
    attention_kernel(const Attention p, float scale_log2, const Split split,
                     Part<Shape::WIDTH>* parts, const __grid_constant__ CUtensorMap map_K,
                     const __grid_constant__ CUtensorMap map_V) {
  constexpr int WIDTH = Shape::WIDTH, KEYS = Shape::KEYS, PIPE = Shape::PIPE;
  ptx::let_next_grid_start();  // it waits for the end of this one before it reads
  const int warp = warp_of_block(), lane = threadIdx.x % 32;
  const int worker = warp * gridDim.x + blockIdx.x;
  if (worker >= split.workers) return;
  auto& s = dynamic_shared<typename Shape::Shared>();
  auto& pieces = s.pieces[warp];
  uint64_t* const full = s.full[warp];
  if (lane == 0) {
    for (int i = 0; i < PIPE; ++i) ptx::mbarrier_init(&full[i], 1);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncwarp();

  // By one lane: K and V of a piece after those of the one before, from tile to tile.
  const int64_t begin = split.begin(worker), end = split.begin(worker + 1);
  const int copies = static_cast<int>(end - begin) * 2;
  int copied = 0, copy_tile = static_cast<int>(begin / split.pieces),
      copy_piece = static_cast<int>(begin % split.pieces);
  const auto copy = [&] {
    if (copied == copies) return;
    const int to = copied % PIPE;
    ptx::mbarrier_arrive_expect_tx(&full[to], sizeof pieces[to]);
    for (int j = 0; j < WIDTH / BOX; ++j)
      ptx::tma_load(pieces[to][j], copied % 2 == 0 ? &map_K : &map_V, j * BOX, copy_piece * KEYS,
                    copy_tile / split.tiles_of_head, &full[to]);
    if (++copied % 2 == 0 && ++copy_piece == split.pieces) copy_piece = 0, ++copy_tile;
  };
  if (lane == 0)
    for (int i = 0; i < PIPE; ++i) copy();

  int step = 0;
  const auto landed = [&]() -> const typename Shape::Piece& {
    ptx::mbarrier_wait_parity(&full[step % PIPE], step / PIPE % 2);
    return pieces[step++ % PIPE];
  };
  const auto refill = [&] {
    __syncwarp();  // all lanes have read the piece
    if (lane == 0) copy();
  };

  // Of K, ldmatrix brings 16 keys and 16 columns as they lie, for B has its columns in registers;
  // of V it brings them transposed. Swizzled as in 07b.
  const int k_row = lane / 16 * 8 + lane % 8, k_col = swizzled(lane, lane / 8 % 2 * 8);
  const int v_row = lane % 16, v_col = swizzled(lane, lane / 16 * 8);
  for (int64_t at = begin; at < end;) {
    const int number = static_cast<int>(at / split.pieces);
    const int first = static_cast<int>(at % split.pieces);
    const int last = static_cast<int>(min(first + end - at, static_cast<int64_t>(split.pieces)));
    const Tile tile(p, split, number);
    int seen[2];
    for (int r = 0; r < 2; ++r)
      seen[r] = min(p.keys, p.seen_by((tile.first_row + lane / 4 + r * 8) % p.queries));
    uint32_t q[WIDTH / 16][4];
    load_queries<WIDTH>(q, p, tile);
    float o[WIDTH / 2] = {};
    Rows rows;
#pragma unroll 1
    for (int t = first; t < last; ++t) {
      float scores[KEYS / 2] = {};
      const auto& K = landed();
#pragma unroll
      for (int k = 0; k < WIDTH; k += 16)
#pragma unroll
        for (int n = 0; n < KEYS; n += 16) {
          uint32_t keys[4];
          ptx::ldmatrix_x4(keys, &K[k / BOX][n + k_row][k_col ^ k % BOX]);
          multiply(&scores[n / 2], q[k / 16], keys);
        }
      refill();

      if ((t + 1) * KEYS > min(seen[0], seen[1]))
#pragma unroll
        for (int i = 0; i < KEYS / 2; ++i)
          if (t * KEYS + column_of(i) >= seen[row_of(i)]) scores[i] = -INFINITE;
      float factor[2];
#pragma unroll
      for (int r = 0; r < 2; ++r)
        factor[r] =
            online_softmax::weigh(scores, scale_log2, rows, r,
                                  fmaxf(rows.largest[r], online_softmax::largest_of(scores, r)));
#pragma unroll
      for (int i = 0; i < WIDTH / 2; ++i) o[i] *= factor[row_of(i)];
      uint32_t weights[KEYS / 16][4];
      online_softmax::round_to(weights, scores);

      const auto& V = landed();
#pragma unroll
      for (int k = 0; k < KEYS; k += 16)
#pragma unroll
        for (int n = 0; n < WIDTH; n += 16) {
          uint32_t values[4];
          ptx::ldmatrix_x4_trans(values, &V[n / BOX][k + v_row][v_col ^ n % BOX]);
          multiply(&o[n / 2], weights[k / 16], values);
        }
      refill();
    }
    store(parts[worker + number], o, rows, tile.rows);
    at += last - first;
  }
}

// A row of O, a thread for each column: the parts of all workers that have had pieces of its tile.
template <int WIDTH>
__global__ void __launch_bounds__(WIDTH)
    combine_kernel(const Attention p, float scale_log2, const Split split,
                   const Part<WIDTH>* parts) {
  ptx::wait_for_grids_before();  // launched early: the parts are there from here on
  const int sharing = p.heads / p.kv_heads * p.queries;
  const int row_of_head = blockIdx.x % sharing, row = row_of_head % ROWS;
  const int tile = blockIdx.x / sharing * split.tiles_of_head + row_of_head / ROWS;
  const int64_t begin = static_cast<int64_t>(tile) * split.pieces;
  int first = static_cast<int>(static_cast<int64_t>(tile) * split.workers / split.tiles);
  if (split.begin(first + 1) <= begin) ++first;  // it ends where the tile begins
  int last = first + 1;
  while (last < split.workers && split.begin(last) < begin + split.pieces) ++last;

  float largest = -INFINITE, sum = 0, value = 0;
#pragma unroll 8
  for (int i = first; i < last; ++i) largest = fmaxf(largest, parts[i + tile].largest[row]);
  // Where no key is seen, -inf - -inf would be no number.
  const float subtracted = largest == -INFINITE ? 0 : largest;
#pragma unroll 8
  for (int i = first; i < last; ++i) {
    const Part<WIDTH>& part = parts[i + tile];
    const float factor = ptx::exp2_approx((part.largest[row] - subtracted) * scale_log2);
    sum += factor * part.sum[row];
    value += factor * part.O[row][threadIdx.x];
  }
  p.O[int64_t{blockIdx.x} * WIDTH + threadIdx.x] = __float2bfloat16(sum == 0 ? 0 : value / sum);
}

// ---- The launcher ------------------------------------------------------------------------------

// Whether the keys of a tile are divided among warps.
enum class Way { UNDIVIDED, DIVIDED };

template <class Shape, Way WAY>
Split split_of(const Attention& p) {
  const int tiles_of_head = ceil_div(p.heads / p.kv_heads * p.queries, ROWS);
  const int tiles = p.batch * p.kv_heads * tiles_of_head, pieces = ceil_div(p.keys, Shape::KEYS);
  const int64_t most = WAY == Way::DIVIDED ? static_cast<int64_t>(tiles) * pieces : tiles;
  const int64_t warps = int64_t{device_attribute(cudaDevAttrMultiProcessorCount)} * Shape::WARPS;
  return {tiles_of_head, tiles, pieces, static_cast<int>(std::min(warps, most))};
}

template <class Shape, Way WAY>
uint64_t workspace_bytes_of(const Attention& p) {
  const Split split = split_of<Shape, WAY>(p);
  return (static_cast<uint64_t>(split.workers) + static_cast<uint64_t>(split.tiles)) *
         sizeof(Part<Shape::WIDTH>);
}

// Throws CudaError where there is no TMA.
template <class Shape, Way WAY>
void launch_shape(const Attention& p) {
  constexpr int WIDTH = Shape::WIDTH;
  require_workspace(p, workspace_bytes_of<Shape, WAY>(p));
  const Split split = split_of<Shape, WAY>(p);
  auto* const parts = static_cast<Part<WIDTH>*>(p.workspace);
  const int kv_heads = p.batch * p.kv_heads;
  // Workers that are fewer than warps are spread over all multiprocessors.
  const int blocks = std::min(split.workers, device_attribute(cudaDevAttrMultiProcessorCount));
  launch(attention_kernel<Shape>, dim3(blocks), dim3(Shape::WARPS * 32),
         sizeof(typename Shape::Shared), p.stream, p, p.scale_log2(), split, parts,
         ptx::tensor_map_of_several(p.K, kv_heads, p.keys, WIDTH, WIDTH, Shape::KEYS),
         ptx::tensor_map_of_several(p.V, kv_heads, p.keys, WIDTH, WIDTH, Shape::KEYS));
  launch(combine_kernel<WIDTH>, dim3(p.heads_in_all() * p.queries), dim3(WIDTH), 0,
         {p.stream, /*early*/ true}, p, p.scale_log2(), split, parts);
}

constexpr int PIPE = 2;
template <Way WAY = Way::DIVIDED, int BUFFERS = PIPE>
uint64_t workspace_bytes(const Attention& p) {
  if (p.width == 64) return workspace_bytes_of<ShapeOf<64, BUFFERS>, WAY>(p);
  return p.width == 128 ? workspace_bytes_of<ShapeOf<128, BUFFERS>, WAY>(p)
                        : workspace_bytes_of<ShapeOf<256, BUFFERS>, WAY>(p);
}
template <Way WAY = Way::DIVIDED, int BUFFERS = PIPE>
void attention(const Attention& p) {
  if (done_without_kernel(p)) return;
  if (p.width == 64) return launch_shape<ShapeOf<64, BUFFERS>, WAY>(p);
  p.width == 128 ? launch_shape<ShapeOf<128, BUFFERS>, WAY>(p)
                 : launch_shape<ShapeOf<256, BUFFERS>, WAY>(p);
}

}  // namespace ladder::decode
