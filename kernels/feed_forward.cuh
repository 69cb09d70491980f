#pragma once
// A feed-forward block in one kernel: Y = gelu(X W1 + b1) W2 + b2, row-major, fp16.
// Idea    the hidden layer, gelu(X W1 + b1), goes by in pieces of 64 columns, which no memory sees:
//         a piece is the sums of one wgmma and, rounded, in the same thread, A of the next.
// vs 11   two products for each piece. The sums of the first are forgotten; those of the second, a
//         block's 128 rows of Y, stay in registers from the first piece to the last. Blocks are in
//         clusters, of which each brings a part of what all of them read, as in 10b.
// Limit   Y: registers have room for 128 x 256 of its floats. A block of a wider Y does 256 columns
//         of it, and each of those blocks has to make all of the hidden layer again.
#include <algorithm>
#include <type_traits>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/epilogue.cuh"
#include "parts/sixteen_bits.cuh"
#include "parts/store_halves.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/cluster.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::feed_forward {

constexpr int WARPGROUP = 128;
constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int MMA_M = 64, MMA_K = 16;
constexpr int BM = CONSUMERS * MMA_M;  // rows of X and of Y
constexpr int BH = 64;                 // columns of the hidden layer in a piece
constexpr int BOX = 64;                // columns of a box: 128 bytes
constexpr int CLUSTER = 2;
constexpr unsigned ALL_BLOCKS = (1 << CLUSTER) - 1;

// As in 10, but that consumers need more.
constexpr int LAUNCH_REGISTERS = 64 * 1024 / THREADS / 8 * 8;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <=
              (CONSUMERS + 1) * LAUNCH_REGISTERS);

// What a block does. BN: its columns of Y. Where WIDE those are not all of them, nor are so many
// columns of X all of its: a tile of X comes with each tile of W1. Else X comes once, and stays.
template <int COLUMNS, bool IS_WIDE>
struct Shape {
  static constexpr int BN = COLUMNS;
  static constexpr bool WIDE = IS_WIDE;
  static constexpr int BK = WIDE ? 64 : BN;  // of X's columns, and W1's rows, in a tile
  static constexpr int PIPE = BN <= 128 ? 8 : WIDE ? 6 : 4;

  struct First {
    half W1[BH / BOX][BK][BOX];
  };
  struct FirstWithX : First {
    half X[BM][BOX];
  };
  // For the first product or for the second.
  union Buffer {
    std::conditional_t<WIDE, FirstWithX, First> first;
    half W2[BN / BOX][BH][BOX];
  };
  struct Shared {
    half X[WIDE ? 1 : BN / BOX][BM][BOX];
    Buffer buffers[PIPE];
    half staged[CONSUMERS * WARPGROUP / 32][16][BOX];
    uint64_t full[PIPE];   // completes when a buffer has what it is to have
    uint64_t empty[PIPE];  // completes when the consumers of all blocks have multiplied it
    uint64_t full_X, empty_X;
  };
};

// What the kernel is given. M x width is X's and Y's size.
struct Arguments {
  int M, width, hidden;
  float alpha1, alpha2;
  const half *bias1, *bias2;
  half* Y;
  int64_t ldy;
};

struct Maps {
  CUtensorMap X, W1, W2;
};

// The pieces of 128 rows and BN columns of Y, in which blocks of a cluster are neighbours: one
// below the other, or, where WIDE, side by side.
template <class Shape>
__host__ __device__ int slices_of(int width) {
  return Shape::WIDE ? ceil_div(width, CLUSTER * Shape::BN) * CLUSTER : 1;
}
template <class Shape>
__host__ __device__ int tiles_of_Y(int M, int width) {
  return ceil_div(ceil_div(M, BM) * slices_of<Shape>(width), CLUSTER) * CLUSTER;
}
template <class Shape>
__device__ __forceinline__ Tile tile_of_Y(int number, int width) {
  const int slices = slices_of<Shape>(width);
  return {number / slices * BM, number % slices * Shape::BN};
}

// The producer, one thread: fills every buffer as soon as it is empty.
template <class Shape>
struct Producer {
  typename Shape::Shared& s;
  const Maps& maps;
  const Arguments& p;
  const int rank = blockIdx.x % CLUSTER;
  int step = 0;

  // The next buffer, when nobody in any block reads it any more. `bytes` will land in it.
  __device__ __forceinline__ typename Shape::Buffer& next(uint32_t bytes) {
    const int to = step % Shape::PIPE;
    ptx::mbarrier_wait_parity(&s.empty[to], (step / Shape::PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], bytes);
    return s.buffers[to];
  }

  // A box that all blocks of the cluster need: this one brings its share of the rows to all.
  template <int ROWS>
  __device__ __forceinline__ void share(half (&box)[ROWS][BOX], const CUtensorMap& map, int col,
                                        int row) {
    const int row0 = rank * (ROWS / CLUSTER);
    ptx::tma_load_multicast(box[row0], &map, col, row + row0, &s.full[step % Shape::PIPE],
                            ALL_BLOCKS);
  }

  // What the first product needs for a piece.
  __device__ __forceinline__ void first(Tile tile, int h0) {
    for (int k0 = 0; k0 < (Shape::WIDE ? p.width : 1); k0 += Shape::BK, ++step) {
      auto& to = next(sizeof(typename Shape::Buffer().first)).first;
      for (int j = 0; j < BH / BOX; ++j) share(to.W1[j], maps.W1, h0 + j * BOX, k0);
      if constexpr (Shape::WIDE) share(to.X, maps.X, k0, tile.m0);
    }
  }

  // And the second.
  __device__ __forceinline__ void second(Tile tile, int h0) {
    auto& to = next(sizeof(typename Shape::Buffer().W2)).W2;
    for (int j = 0; j < Shape::BN / BOX; ++j)
      if (Shape::WIDE)
        ptx::tma_load(to[j], &maps.W2, tile.n0 + j * BOX, h0, &s.full[step % Shape::PIPE]);
      else
        share(to[j], maps.W2, j * BOX, h0);
    ++step;
  }

  __device__ __forceinline__ void run() {
    const int tiles = tiles_of_Y<Shape>(p.M, p.width);
    for (int number = blockIdx.x, round = 0; number < tiles; number += gridDim.x, ++round) {
      const Tile tile = tile_of_Y<Shape>(number, p.width);
      if (!Shape::WIDE) {
        ptx::mbarrier_wait_parity(&s.empty_X, (round + 1) % 2);
        ptx::mbarrier_arrive_expect_tx(&s.full_X, sizeof s.X);
        for (int j = 0; j < Shape::BN / BOX; ++j)
          ptx::tma_load(s.X[j], &maps.X, j * BOX, tile.m0, &s.full_X);
      }
      // In the consumers' order, an even number of pieces: one beyond the hidden layer is zeros.
      first(tile, 0);
      int h0 = 0;
      for (; h0 + BH < p.hidden || h0 / BH % 2 == 0; h0 += BH) {
        first(tile, h0 + BH);
        second(tile, h0);
      }
      second(tile, h0);
    }
  }
};

// A lane's two of each eight columns of a bias from n0 on, and zeros where there is none. No load
// is in a branch of its own, behind which it would be waited for.
template <int COUNT>
__device__ __forceinline__ void load_bias(half2 (&to)[COUNT], const half* bias, int n0, int N) {
  const int n = n0 + threadIdx.x % 4 * 2;
  if (n0 + COUNT * 8 <= N) {
#pragma unroll
    for (int j = 0; j < COUNT; ++j) to[j] = *reinterpret_cast<const half2*>(&bias[n + j * 8]);
    return;
  }
  const auto at = [&](int i) { return i < N ? bias[i] : __float2half(0); };
#pragma unroll
  for (int j = 0; j < COUNT; ++j) to[j] = __halves2half2(at(n + j * 8), at(n + j * 8 + 1));
}

// To Y by way of shared memory, each warp its 16 rows, a box after the other.
template <int BN>
__device__ __forceinline__ void store(half (*staged)[BOX], const float (&y)[BN / 2], Tile tile,
                                      const Arguments& p) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int box = 0; box < BN; box += BOX) {
    half2 added[BOX / 8];
    load_bias(added, p.bias2, tile.n0 + box, p.width);
#pragma unroll
    for (int j = 0; j < BOX; j += 8) {
      float v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        v[i] = p.alpha2 * y[(box + j) / 2 + i] +
               (i % 2 == 0 ? __low2float(added[j / 8]) : __high2float(added[j / 8]));
      stage_halves(staged, 0, j, v, lane);
    }
    __syncwarp();  // all of it is written before any lane reads
    store_staged<16>(staged, p.Y, p.ldy, tile.m0 + warp * 16, tile.n0 + box, p.M, p.width, lane);
    __syncwarp();  // and read before the next box overwrites it
  }
}

// A consumer, a warpgroup: its 64 rows of each tile of Y.
template <class Shape>
struct Consumer {
  using Fragments = uint32_t[BH / MMA_K][4];
  typename Shape::Shared& s;
  const Arguments& p;
  const int group_m = warpgroup_of_block() * MMA_M;
  float y[Shape::BN / 2], h[BH / 2];  // sums of the second product, and of the first
  half2 added[BH / 8];                // to h: of the bias
  int step = 0, released = 0;

  // Leaves the sums as they are: the first products overwrite them.
  __device__ __forceinline__ Consumer(typename Shape::Shared& s, const Arguments& p) : s(s), p(p) {}

  __device__ __forceinline__ const typename Shape::Buffer& landed() {
    ptx::mbarrier_wait_parity(&s.full[step % Shape::PIPE], step / Shape::PIPE % 2);
    return s.buffers[step++ % Shape::PIPE];
  }

  // Each buffer is multiplied by one group of wgmmas. When all but some are done, the others'
  // buffers go back to the producers of all blocks.
  __device__ __forceinline__ void release_all_but(int running) {
#pragma unroll 1
    for (; released < step - running; ++released)
      if (threadIdx.x % WARPGROUP < CLUSTER)
        ptx::mbarrier_arrive_cluster(&s.empty[released % Shape::PIPE], threadIdx.x % WARPGROUP);
  }
  __device__ __forceinline__ void wait_for_all_but_one() {
    ptx::wgmma_wait_group<1>();
    release_all_but(1);
  }

  // Starts h = X * W1 of the next piece.
  __device__ __forceinline__ void first() {
    int k0 = 0;
    do {
      const auto& now = landed().first;
      uint64_t x;
      if constexpr (Shape::WIDE)
        x = descriptor_a(now.X, group_m, 0);
      else
        x = descriptor_a(s.X[0], group_m, 0);
      const uint64_t w1 = descriptor_b(now.W1, 0);
      ptx::wgmma_fence();
#pragma unroll
      for (int k = 0; k < Shape::BK; k += MMA_K)
        ptx::wgmma_m64k16_f32_f16(h, further(x, k / BOX * sizeof s.X[0] + k % BOX * sizeof(half)),
                                  further(w1, k * sizeof now.W1[0][0]), k0 > 0 || k > 0);
      ptx::wgmma_commit_group();
      if (k0 > 0) wait_for_all_but_one();
      k0 += Shape::BK;
    } while (Shape::WIDE && k0 < p.width);
  }

  // Starts y += a * W2 of the piece that a has been made of.
  __device__ __forceinline__ void second(const Fragments& a, bool accumulate) {
    const auto& now = landed().W2;
    const uint64_t w2 = descriptor_b(now, 0);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < BH; k += MMA_K)
      ptx::wgmma_m64k16_f32<half, ptx::Major::MN>(
          y, a[k / MMA_K], further(w2, k * sizeof now[0][0]), accumulate || k > 0);
    ptx::wgmma_commit_group();
  }

  // What a lane has of 16 columns of sums is what it has to have of A's.
  __device__ __forceinline__ void activate(Fragments& a) const {
    constexpr TanhGate gelu = GELU;
#pragma unroll
    for (int i = 0; i < BH / 2; i += 2)
      a[i / 8][i / 2 % 4] = as_pair<half>(gelu(p.alpha1 * h[i] + __low2float(added[i / 4])),
                                          gelu(p.alpha1 * h[i + 1] + __high2float(added[i / 4])));
  }

  // Makes `to` of the piece from h0 on, while that in `from` is multiplied.
  __device__ __forceinline__ void piece(int h0, const Fragments& from, Fragments& to) {
    first();
    second(from, h0 > BH);
    load_bias(added, p.bias1, h0, p.hidden);
    wait_for_all_but_one();  // h is there, and nobody reads `to` any more
    activate(to);
  }

  __device__ __forceinline__ void run() {
    Fragments even, odd;  // A of the second: while one is multiplied, the other is made
    const int tiles = tiles_of_Y<Shape>(p.M, p.width);
#pragma unroll 1
    for (int number = blockIdx.x, round = 0; number < tiles; number += gridDim.x, ++round) {
      if (!Shape::WIDE) ptx::mbarrier_wait_parity(&s.full_X, round % 2);
      first();
      load_bias(added, p.bias1, 0, p.hidden);
      ptx::wgmma_wait_group<0>();
      activate(even);
      for (int h0 = BH;; h0 += 2 * BH) {
        piece(h0, even, odd);
        if (h0 + BH >= p.hidden) break;
        piece(h0 + BH, odd, even);
      }
      if (!Shape::WIDE && threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty_X);
      second(odd, true);
      ptx::wgmma_wait_group<0>();
      release_all_but(0);
      store<Shape::BN>(s.staged[threadIdx.x / 32], y, tile_of_Y<Shape>(number, p.width), p);
    }
  }
};

// Blocks that stay, and go from tile to tile.
template <class Shape>
__global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    feed_forward_kernel(const __grid_constant__ Maps maps, const Arguments p) {
  auto& s = dynamic_shared<typename Shape::Shared>();
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CLUSTER * CONSUMERS);
    ptx::mbarrier_init(&s.full_X, 1);
    ptx::mbarrier_init(&s.empty_X, CONSUMERS);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  ptx::cluster_sync();  // no arrival and no tile of another block may come before they are there

  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) Producer<Shape>{s, maps, p}.run();
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    Consumer<Shape>(s, p).run();
    ptx::cluster_sync();  // no block may leave before the others have sent their last arrivals
  }
}

#ifndef __CUDACC_RTC__
template <class Shape>
void launch_shape(const Gemm<half, half>& first, const Gemm<half, half>& second) {
  const Arguments p{first.M,
                    second.N,
                    first.N,
                    first.epilogue.alpha,
                    second.epilogue.alpha,
                    first.epilogue.bias,
                    second.epilogue.bias,
                    second.C,
                    second.ldc};
  const Maps maps{
      ptx::tensor_map(first.A, p.M, p.width, first.lda, Shape::WIDE ? BM / CLUSTER : BM),
      ptx::tensor_map(first.B, p.width, p.hidden, first.ldb, Shape::BK / CLUSTER),
      ptx::tensor_map(second.B, p.hidden, p.width, second.ldb, Shape::WIDE ? BH : BH / CLUSTER)};
  const int room = device_attribute(cudaDevAttrMultiProcessorCount) / CLUSTER * CLUSTER;
  const int blocks = std::min(tiles_of_Y<Shape>(p.M, p.width), room);
  launch_clusters(CLUSTER, feed_forward_kernel<Shape>, dim3(blocks), dim3(THREADS),
                  sizeof(typename Shape::Shared), first.stream, maps, p);
}

// The two products as 16 gets them: the first with alpha, a bias and GELU, the second with alpha
// and a bias. The hidden layer, first.C and second.A, is not in memory: nothing there is read or
// written. Throws std::invalid_argument where they are anything else; CudaError where there is no
// TMA.
inline void block(const Gemm<half, half>& first, const Gemm<half, half>& second) {
  for (const Gemm<half, half>* p : {&first, &second}) {
    require_valid_epilogue(*p);
    require_aligned_rows(*p);
    Epilogue<half> rest = p->epilogue;
    rest.alpha = 1, rest.bias = nullptr, rest.activation = Activation::NONE;
    const Activation activation = p == &first ? Activation::GELU : Activation::NONE;
    if (p->epilogue.bias == nullptr || p->epilogue.activation != activation ||
        !is_product_alone(rest))
      throw std::invalid_argument(
          "a feed-forward block has a bias and GELU behind its first product, a bias behind the "
          "second, and nothing else");
  }
  const auto require_same = [](const char* what, int a, int b) {
    if (a != b)
      throw std::invalid_argument(std::string(what) + " are " + std::to_string(a) +
                                  " in the first product and " + std::to_string(b) +
                                  " in the second");
  };
  require_same("the rows", first.M, second.M);
  require_same("the columns of the hidden layer", first.N, second.K);
  require_same("the columns of X and of the result", first.K, second.N);
  if (first.M == 0 || first.K == 0) return;
  if (first.N == 0) throw std::invalid_argument("the hidden layer has no columns");
  const int width = second.N;
  if (width <= 64) return launch_shape<Shape<64, false>>(first, second);
  if (width <= 128) return launch_shape<Shape<128, false>>(first, second);
  if (width <= 192) return launch_shape<Shape<192, false>>(first, second);
  if (width <= 256) return launch_shape<Shape<256, false>>(first, second);
  launch_shape<Shape<256, true>>(first, second);
}
#endif  // __CUDACC_RTC__

}  // namespace ladder::feed_forward
