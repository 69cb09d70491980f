#pragma once
// 23c norm_in_product: Y = LayerNorm(X) * W + bias, row-major, bf16 or fp16, fp32 accumulate.
// Idea    the product multiplies x itself. With gain * W instead of W, a row of Y is
//         (x * W - mean * sums of W's columns) / deviation + bias. Mean and deviation of a row come
//         from the tiles of X that are in shared memory anyway.
// vs 13   three warps beside the producer, which had nothing to do, read each tile of X too, a
//         thread a row or two. They give their results to the consumers through shared memory. One
//         tile of C, 128x256.
// Limit   the product; and where a row's mean is far larger than its deviation, the product of the
//         mean takes digits of fp32.
#include "13_fit_the_waves.cuh"
#include "23_rows.cuh"
#include "norm_linear.cuh"
#include "parts/swizzle.cuh"

namespace ladder::norm_in_product {

namespace waves = fit_the_waves;
using waves::BK, waves::CONSUMERS, waves::WARPGROUP, waves::Pairs, ptx::Major;

constexpr int BM = 128, BN = 256;
constexpr int OBSERVERS = 3;  // warps
// The observers are in the producer's warpgroup, and 24 registers would not do.
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;
// Barriers between the observers and the consumers, beside those of store_pieces.cuh.
enum Barrier { ROWS_READY = 1 + CONSUMERS, ROWS_TAKEN };
constexpr int MEET = OBSERVERS * 32 + CONSUMERS * WARPGROUP;  // threads

// ---- Once for a model --------------------------------------------------------------------------

constexpr int FOLD_THREADS = 128;

// A thread for each column. The sums are those of the rounded numbers, by which is multiplied.
template <class T>
__global__ void __launch_bounds__(FOLD_THREADS)
    fold_kernel(const Unfolded<T> from, T* W, float* sums, float* bias) {
  const int n = blockIdx.x * FOLD_THREADS + threadIdx.x;
  if (n >= from.N) return;
  float sum = 0, shifted = as_float(from.bias[n]);
  for (int k = 0; k < from.K; ++k) {
    const float weight = as_float(from.W[k * from.ld + n]);
    const T folded = rounded<T>(as_float(from.gain[k]) * weight);
    W[k * from.ld + n] = folded;
    sum += as_float(folded);
    shifted += as_float(from.shift[k]) * weight;
  }
  sums[n] = sum, bias[n] = shifted;
}

// W, sums and bias for NormLinear.
template <class T>
void fold(const Unfolded<T>& from, T* W, float* sums, float* bias, cudaStream_t stream) {
  if (from.N == 0) return;
  launch(fold_kernel<T>, dim3(ceil_div(from.N, FOLD_THREADS)), dim3(FOLD_THREADS), 0, stream, from,
         W, sums, bias);
}

// ---- The product -------------------------------------------------------------------------------

// What becomes of a row's sums: v * factor + shift * the column's sum.
struct OfRow {
  float factor, shift;
};

// The function object for the sums, as in parts/epilogue.cuh.
struct Norm {
  const float *sums, *bias;  // of columns
  const OfRow* rows;         // of the tile, in shared memory

  struct Columns {
    float sum[2], bias[2];
  };
  __device__ __forceinline__ Columns columns(int, int n0, int N, int lane) const {
    Columns c;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int n = n0 + h * 8 + lane / 4;
      c.sum[h] = n < N ? sums[n] : 0;
      c.bias[h] = n < N ? bias[n] : 0;
    }
    return c;
  }
  template <int ROWS>
  __device__ __forceinline__ void piece(float* acc, int row0, int left, const Columns& c, int, int,
                                        int, int, int lane) const {
#pragma unroll
    for (int row = 0; row < ROWS; row += 8)
      if (row < left)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const OfRow of_row = rows[row0 + row + lane % 4 * 2 + i % 2];
          float& v = acc[row / 2 + i];
          v = v * of_row.factor + (of_row.shift * c.sum[i / 2] + c.bias[i / 2]);
        }
  }
};

// Sums over a row of X. All numbers are taken from the first one: where the mean is large, the
// squares would lose all digits.
struct RowSums {
  float first = 0, sum = 0, squares = 0;

  __device__ __forceinline__ void add(float x) {
    const float difference = x - first;
    sum += difference;
    squares += difference * difference;
  }
  __device__ __forceinline__ OfRow result(int K, float epsilon) const {
    const float mean = sum / K;
    const float factor = rsqrtf(fmaxf(squares / K - mean * mean, 0) + epsilon);
    return {factor, -factor * (first + mean)};
  }
};

// The observers: read the tiles of X that the consumers multiply by, and have a tile's rows ready
// at its end.
template <class Shared>
__device__ __forceinline__ void observe(Shared& s, OfRow* rows, int K, int tiles, int tiles_of_C,
                                        float epsilon) {
  constexpr int THREADS = OBSERVERS * 32, EACH = ceil_div(BM, THREADS);
  const int thread = threadIdx.x - (CONSUMERS * WARPGROUP + 32);
  bool backwards = false;  // as in produce_all
  unsigned step = 0;
  for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
    RowSums of[EACH];
    for (int t = 0; t < tiles; ++t, ++step) {
      const unsigned buffer = step % Shared::PIPE;
      const auto& box = s.tiles[buffer].A.box;
      const int columns = K - (backwards ? tiles - 1 - t : t) * BK;
      ptx::mbarrier_wait_parity(&s.full[buffer], step / Shared::PIPE % 2);
#pragma unroll
      for (int e = 0; e < EACH; ++e) {
        const int row = thread + e * THREADS;
        if (row >= BM) continue;
        if (t == 0) of[e].first = as_float(box[row][swizzled(row, 0)]);
#pragma unroll 2
        for (int col = 0; col < min(BK, columns); col += 8) {
          const auto word = *reinterpret_cast<const uint4*>(&box[row][swizzled(row, col)]);
          const auto* const x = reinterpret_cast<const std::decay_t<decltype(box[0][0])>*>(&word);
#pragma unroll
          for (int i = 0; i < 8; ++i) of[e].add(as_float(x[i]));
        }
      }
      __syncwarp();
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&s.empty[buffer]);
    }
    if (index != static_cast<int>(blockIdx.x)) ptx::named_barrier_sync(ROWS_TAKEN, MEET);
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      const int row = thread + e * THREADS;
      if (row < BM) rows[row] = of[e].result(K, epsilon);
    }
    ptx::named_barrier_arrive(ROWS_READY, MEET);
    backwards = !backwards;
  }
  ptx::named_barrier_sync(ROWS_TAKEN, MEET);
}

template <class T>
__global__ void __launch_bounds__(waves::THREADS, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C,
                const __grid_constant__ CUtensorMap map_C_last, T* C, int64_t ldc,
                const float* sums, const float* bias, float epsilon) {
  using Shared = waves::Shared<T, BM, BN>;
  Shared& s = dynamic_shared<Shared>();
  __shared__ OfRow rows[BM];
  const int tiles = ceil_div(K, BK);
  const auto tile_at = [&](int index) {
    return waves::tile_of_block<BM, BN, Pairs::NONE>(index, M, N);
  };
  const int first_of_producer = CONSUMERS * WARPGROUP / 32, warp_number = warp_of_block();
  const bool is_producer = warp_number == first_of_producer;
  const int early = min(tiles, Shared::PIPE);
  if (is_producer) waves::start(s, map_A, map_B, tile_at(blockIdx.x), early);
  waves::prepare_others<1>(s, CONSUMERS + OBSERVERS);

  if (warp_number >= first_of_producer) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (is_producer)
      waves::produce_all<Pairs::NONE>(s, map_A, map_B, tiles, tiles_of_C, early, tile_at);
    else
      observe(s, rows, K, tiles, tiles_of_C, epsilon);
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    constexpr int BOXES = BN / waves::BOX / CONSUMERS;
    const int first_box = warpgroup_of_block() * BOXES, warp = threadIdx.x % WARPGROUP / 32;
    const PiecesOfC<T> to{map_C, map_C_last, C, ldc, M, N};
    const Norm norm{sums, bias, rows};
    unsigned step = 0, piece = 0;
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_at(index);
      const int n0 = tile.n0 + first_box * waves::BOX;
      Norm::Columns columns[BOXES];
#pragma unroll
      for (int w = 0; w < BOXES; ++w)
        columns[w] = norm.columns(tile.m0, n0 + w * waves::BOX + warp * 16, N, threadIdx.x % 32);
      float acc[BOXES][BM / 2];
      const unsigned last = waves::multiply<1>(s, tiles, first_box, acc, step);
      ptx::wgmma_wait_group<0>();
      waves::release<1>(s, last);
      ptx::named_barrier_sync(ROWS_READY, MEET);
      store_transposed(s.staged, acc, columns, norm, to, tile.m0, n0, piece);
      ptx::named_barrier_arrive(ROWS_TAKEN, MEET);
    }
    if (threadIdx.x % WARPGROUP == 0) ptx::bulk_wait_group_read<0>();
  }
}

template <class T>
int tiles_of_C(const Gemm<T, T>& p) {
  return ceil_div(p.M, BM) * ceil_div(p.N, BN);
}
// No more than are done in as many waves.
inline int blocks_for(int tiles) {
  return ceil_div(tiles, ceil_div(tiles, clusters_at_once(1)));
}

template <class T>
void norm_linear(const NormLinear<T>& p) {
  const Gemm<T, T>& g = p.product;
  require_size("K", g.K, 1);  // a row of no numbers has no mean
  if (g.K % 8 != 0) throw std::invalid_argument("K must be a multiple of 8");
  if (done_without_kernel(g)) return;
  using Shared = waves::Shared<T, BM, BN>;
  const int all = tiles_of_C(g);
  launch(gemm_kernel<T>, dim3(blocks_for(all)), dim3(waves::THREADS), sizeof(Shared), g.stream, g.M,
         g.N, g.K, all, Operand<T, BM, Major::K>::map(g.A, g.M, g.K, g.lda),
         Operand<T, BN, Major::MN>::map(g.B, g.N, g.K, g.ldb),
         ptx::tensor_map(g.C, g.M, g.N, g.ldc, Shared::PIECE),
         ptx::tensor_map(g.C, g.M, g.N, g.ldc, Shared::LAST_PIECE), g.C, g.ldc, p.sums, p.bias,
         p.epsilon);
}

// LayerNorm by 23, and the same tile of 13's product with a bias.
template <class T>
void norm_then_product(const Rows<T>& norm, const Gemm<T, T>& product) {
  rows::rows(norm);
  require_valid_epilogue(product);
  require_aligned_rows(product);
  if (product.M == 0 || product.N == 0) return;
  const int all = tiles_of_C(product);
  const Fused<T, Clamp, false> add_bias{product.epilogue, {-__builtin_huge_valf()}};
  waves::launch_and_finish<T, BM, BN, Pairs::NONE>(product, all, blocks_for(all), add_bias);
}

}  // namespace ladder::norm_in_product
