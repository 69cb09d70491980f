#pragma once
// 24 four_bits: C[M,N] = A[M,K] * W[K,N], fp16 or bf16, W of numbers of four bits, fp32 accumulate.
// Idea    with few rows the time is that of reading W, and of four bits there is a quarter to read.
//         W lies in memory as wgmma's A is wanted in registers: a thread loads 16 bytes, makes 32
//         numbers of them with a few instructions, and nothing goes back to shared memory.
// vs 14   what a step has of W, brought without a tensor map, and how it is multiplied: the sums of
//         each group of 128 along K are multiplied by its scales, and then added to the tile's.
// Step    the kernel is called, with other tiles: nothing of 14 stands here again.
// Limit   device memory, 85% of a copy's rate; with 16 rows the instructions that unpack as well
//         (H200, 28672x8192).
#include "14_few_rows.cuh"
#include "four_bits.cuh"
#include "parts/configurations.cuh"
#include "ptx/pairs.cuh"

namespace ladder::four_bits {

using few_rows::MMA_K, few_rows::WARPGROUP;
using ptx::Major;

// What a step reads for a tile of BM rows and BN columns of C, of numbers that lie in P.
template <class T, int ROWS, int COLUMNS, int ALONG_K = STEP, class P = Packed<T>>
struct alignas(1024) Tiles {
  using Problem = PackedProduct<T, P>;
  static constexpr int BM = ROWS, BN = COLUMNS, BK = ALONG_K;
  static constexpr int EMPTIED_BY = WARPGROUP / 32;  // the warps, each of which reads W itself
  static constexpr int BAND = 0;
  using OperandA = Operand<T, BM, Major::K>;
  static constexpr int BOXES_A = BK / OperandA::BK, BOXES_W = BN / PACKED_COLUMNS,
                       GROUPS = BK / GROUP;
  static constexpr uint32_t BYTES = BOXES_A * sizeof(OperandA) + sizeof(P[BOXES_W][GROUPS]);
  struct SourceB {
    const P* packed;
    int columns, groups;  // of which there is something packed
  };
  OperandA A[BOXES_A];
  P W[BOXES_W][GROUPS];

  __device__ __forceinline__ void load(const CUtensorMap& map_A, const SourceB& from, Tile tile,
                                       int k0, uint64_t* full) {
    for (int j = 0; j < BOXES_W; ++j) {
      // Beyond the last column something else is multiplied, of which nothing is stored.
      const int column = min(tile.n0 / PACKED_COLUMNS + j, from.columns - 1);
      ptx::bulk_load(&W[j], &from.packed[int64_t{column} * from.groups + k0 / GROUP], sizeof W[j],
                     full);
    }
    for (int i = 0; i < BOXES_A; ++i) A[i].load(map_A, tile.m0, k0 + i * OperandA::BK, full);
  }
};

// Something for each of the two rows of wgmma's A that a thread has: lane / 4 of its warp's 16, and
// the one 8 further.
template <class T>
struct Pair {
  T of_row[2];
};

template <class P>
__device__ __forceinline__ Pair<float> scales(const P& W, int row) {
  return {as_float(W.scale[row]), as_float(W.scale[row + 8])};
}
// Each in both halves of a register.
template <class T>
__device__ __forceinline__ uint32_t twice(T x) {
  return reinterpret_cast<const uint16_t&>(x) * 0x10001u;
}
template <class T>
__device__ __forceinline__ Pair<uint32_t> zeros(const Packed<T>& W, int row) {
  return {twice(W.zero[row]), twice(W.zero[row + 8])};
}

// Of the eight numbers of a word the four pairs that a thread has of wgmma's A: nibble i and nibble
// i + 4 are put into the fractions of two large numbers, from which the same large numbers with the
// zero points are subtracted. `zero`: of the thread's row, and of the row 8 further.
template <class T>
__device__ __forceinline__ void unpack_word(uint32_t word, Pair<uint32_t> zero, uint32_t (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    a[i] = ptx::subtract_pairs<T>(ptx::and_or(word >> 4 * i, 0x000F000F, Magic<T>::BITS * 0x10001),
                                  zero.of_row[i % 2]);
}

// Half of a group, in registers.
template <class T>
struct Half {
  static constexpr int K = GROUP / 2;
  uint32_t weights[K / MMA_K][4];

  // Starts the product with the half of A that `a` describes.
  template <int COUNT>
  __device__ __forceinline__ void multiply(float (&sums)[COUNT], uint64_t a, bool accumulate) {
    using OfA = Operand<T, 2 * COUNT, Major::K>;
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < K; k += MMA_K)
      ptx::wgmma_m64k16_f32<T, Major::K>(sums, weights[k / MMA_K], further(a, OfA::bytes_to(0, k)),
                                         accumulate || k > 0);
    ptx::wgmma_commit_group();
  }
};

// Thread `thread` of a warpgroup unpacks its part of half `part` of W.
template <class T>
__device__ __forceinline__ void unpack(Half<T>& half, const Packed<T>& W, int part, int thread,
                                       Pair<uint32_t> zero) {
  const uint4 words = W.numbers[part][thread];
  unpack_word<T>(words.x, zero, half.weights[0]), unpack_word<T>(words.y, zero, half.weights[1]);
  unpack_word<T>(words.z, zero, half.weights[2]), unpack_word<T>(words.w, zero, half.weights[3]);
}

template <int COUNT>
__device__ __forceinline__ void add_scaled(float (&acc)[COUNT], const float (&sums)[COUNT],
                                           Pair<float> scale) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) acc[i] += sums[i] * scale.of_row[i / 2 % 2];
}

// A consumer, a warpgroup: multiplies its 64 columns of every step, two groups, as soon as they
// have landed. While one half of a group is multiplied, the other one is unpacked. ptxas lets
// wgmmas run beside that only if all of them are waited for before the loop turns.
template <class T, int BM, int BN, class P, int SPLIT>
__device__ __forceinline__ void consume(few_rows::SharedOf<Tiles<T, BM, BN, STEP, P>, SPLIT>& s,
                                        few_rows::Steps steps, Ring ring, float (&acc)[BM / 2]) {
  const int warpgroup = warpgroup_of_block(), thread = threadIdx.x % WARPGROUP, lane = thread % 32;
  const int row = thread / 32 * 16 + lane / 4;  // of wgmma's A: a column of W
  const auto& first = s.tiles[0];
  const uint64_t first_a = first.A[0].descriptor(0, 0);
#pragma unroll 1
  for (int t = 0; t < steps.count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const P* const W = s.tiles[ring.buffer].W[warpgroup];
    const auto a = [&](int half) {
      return further(first_a, ring.buffer * sizeof first + half * sizeof first.A[0]);
    };
    Half<T> left, right;
    float even[BM / 2], odd[BM / 2];
    unpack(left, W[0], 0, thread, zeros(W[0], row));
    left.multiply(even, a(0), false);
    unpack(right, W[0], 1, thread, zeros(W[0], row));
    right.multiply(even, a(1), true);
    ptx::wgmma_wait_group<1>();  // the first left half has been multiplied
    unpack(left, W[1], 0, thread, zeros(W[1], row));
    left.multiply(odd, a(2), false);
    const Pair<float> scale_even = scales(W[0], row), scale_odd = scales(W[1], row);
    ptx::wgmma_wait_group<1>();  // and the right one
    add_scaled(acc, even, scale_even);
    unpack(right, W[1], 1, thread, zeros(W[1], row));
    right.multiply(odd, a(3), true);
    ptx::wgmma_wait_group<0>();
    __syncwarp();  // all lanes have read W
    if (lane == 0) ptx::mbarrier_arrive(&s.empty[ring.buffer]);
    add_scaled(acc, odd, scale_odd);
  }
}

// What a launcher chooses among: rows and columns of a tile, blocks that divide its K, and blocks
// that share a multiprocessor.
template <class Problem>
struct Configuration {
  int BM, BN, split, blocks;
  void (*launch)(const Problem&);
};
// Throws CudaError where there is no TMA.
template <class T, class Tiles, int SPLIT, int BLOCKS>
void launch_configuration(const typename Tiles::Problem& p) {
  using S = few_rows::SharedOf<Tiles, SPLIT>;
  constexpr int BUFFERS = few_rows::buffers_of<S>(BLOCKS);
  launch_clusters(
      SPLIT, few_rows::gemm_kernel<S, T, ProductAlone>,
      tile_grid(ceil_div(p.M, Tiles::BM) * SPLIT, ceil_div(p.N, Tiles::BN)), dim3(S::THREADS),
      S::bytes(BUFFERS), p.stream, p.M, p.N, p.K, Tiles::OperandA::map(p.A, p.M, p.K, p.lda),
      typename Tiles::SourceB{p.packed, ceil_div(p.N, PACKED_COLUMNS), padded_groups(p.K)}, p.C,
      p.ldc, BUFFERS, ProductAlone{});
}
// No more than `most_blocks`, and so few that each has two buffers: something is on its way while
// something is multiplied.
template <class S>
constexpr int blocks_of(int most_blocks) {
  while (few_rows::buffers_of<S>(most_blocks) < 2) --most_blocks;
  return most_blocks;
}
template <class T, class Tiles, int SPLIT, int MOST_BLOCKS>
constexpr Configuration<typename Tiles::Problem> configuration_of() {
  constexpr int BLOCKS = blocks_of<few_rows::SharedOf<Tiles, SPLIT>>(MOST_BLOCKS);
  return {Tiles::BM, Tiles::BN, SPLIT, BLOCKS, launch_configuration<T, Tiles, SPLIT, BLOCKS>};
}
template <class T, class P, int BM, int BN, int SPLIT, int BLOCKS>
constexpr Configuration<PackedProduct<T, P>> configuration() {
  return configuration_of<T, Tiles<T, BM, BN, STEP, P>, SPLIT, BLOCKS>();
}
// One warpgroup per block: four blocks wait for memory better than one of four. Of up to 8 rows a
// tile of 256 columns is faster where there are enough of them, for it reads A less often (H200,
// 28672x8192: 35.7 us and 38.0). Of 16 rows it is not (38.3 us and 37.9).
template <class T, class P>
inline constexpr Configuration<PackedProduct<T, P>> CONFIGURATIONS[] = {
    configuration<T, P, 8, 64, 2, 4>(),  configuration<T, P, 8, 64, 4, 4>(),
    configuration<T, P, 8, 64, 8, 4>(),  configuration<T, P, 8, 64, 1, 4>(),
    configuration<T, P, 8, 256, 1, 1>(), configuration<T, P, 16, 64, 2, 4>(),
    configuration<T, P, 16, 64, 4, 4>(), configuration<T, P, 16, 64, 8, 4>(),
    configuration<T, P, 16, 64, 1, 4>(), configuration<T, P, 32, 64, 2, 3>(),
    configuration<T, P, 32, 64, 4, 3>(), configuration<T, P, 32, 64, 8, 3>(),
    configuration<T, P, 32, 64, 1, 3>(), configuration<T, P, 32, 128, 1, 2>()};

inline int multiprocessors() {
  return device_attribute(cudaDevAttrMultiProcessorCount);
}
// Bytes that come to the busiest multiprocessor; a block starts and ends in the time of one step.
// Of blocks that do not all run at once the last ones find multiprocessors that are free: they are
// half of one more on average. With one warpgroup or two a multiprocessor waits for memory, and
// takes 1.4 and 1.1 times as long. The constants choose the fastest at 15 of 18 shapes of 1 and 16
// rows, and at the others one that takes up to 5% longer (H200).
template <class T, class P>
double cost(const PackedProduct<T, P>& p, const Configuration<PackedProduct<T, P>>& c) {
  const double tiles = static_cast<double>(ceil_div(p.M, c.BM)) * ceil_div(p.N, c.BN);
  const double each = tiles * c.split / multiprocessors();
  const bool at_once = tiles <= clusters_at_once(c.split) * c.blocks;
  const double blocks = at_once ? std::ceil(each) : each + 0.5;
  const double bytes_of_k =
      c.BN * sizeof(P) / double{GROUP * PACKED_COLUMNS} + c.BM * static_cast<double>(sizeof(T));
  const double warpgroups = blocks * c.BN / PACKED_COLUMNS;
  const double waiting = warpgroups <= 1 ? 1.4 : warpgroups <= 2 ? 1.1 : 1;
  return waiting * blocks * (ceil_div(ceil_div(p.K, STEP), c.split) + 1) * bytes_of_k;
}

template <class T, class P>
void gemm(const PackedProduct<T, P>& p) {
  if (!done_without_kernel(p)) first_done(CONFIGURATIONS<T, P>, p).launch(p);
}

}  // namespace ladder::four_bits
