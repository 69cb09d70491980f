#pragma once
// 24 four_bits: C[M,N] = A[M,K] * W[K,N], fp16 or bf16, W of numbers of four bits, of which each
// 128 along K have a scale and a zero point; fp32 accumulate. Idea    with few rows the time is
// that of reading W, and of four bits there is a quarter to read.
//         W lies in memory as wgmma's A is wanted in registers: a thread loads 16 bytes, makes 32
//         numbers of them with a few instructions, and nothing goes back to shared memory.
// vs 14   what a step has of W, and how it is multiplied. A step is a group of 128: its sums are
//         added up alone, multiplied by the columns' scales, and then added to the tile's.
// Limit   device memory.
#include "14_few_rows.cuh"
#include "four_bits.cuh"
#include "ptx/pairs.cuh"

namespace ladder::four_bits {

using few_rows::BOX, few_rows::MMA_K, few_rows::WARPGROUP;
using ptx::Major;

// What a step reads for a tile of BM rows and BN columns of C.
template <class T, int ROWS, int COLUMNS>
struct alignas(1024) Tiles {
  static constexpr int BM = ROWS, BN = COLUMNS, BK = GROUP;
  static constexpr int EMPTIED_BY = WARPGROUP / 32;  // the warps, each of which reads W itself
  using OperandA = Operand<T, BM, Major::K>;
  static constexpr int BOXES_A = BK / OperandA::BK, BOXES_W = BN / PACKED_COLUMNS;
  static constexpr uint32_t BYTES = BOXES_A * sizeof(OperandA) + BOXES_W * sizeof(Packed<T>);
  struct SourceB {
    const Packed<T>* packed;
    int columns, groups;  // of which there is something packed
  };
  OperandA A[BOXES_A];
  Packed<T> W[BOXES_W];

  __device__ __forceinline__ void load(const CUtensorMap& map_A, const SourceB& from, Tile tile,
                                       int k0, uint64_t* full) {
    for (int j = 0; j < BOXES_W; ++j) {
      // Beyond the last column something else is multiplied, of which nothing is stored.
      const int column = min(tile.n0 / PACKED_COLUMNS + j, from.columns - 1);
      ptx::bulk_load(&W[j], &from.packed[int64_t{column} * from.groups + k0 / BK], sizeof W[j],
                     full);
    }
    for (int i = 0; i < BOXES_A; ++i) A[i].load(map_A, tile.m0, k0 + i * OperandA::BK, full);
  }
};

// The same number in both halves of a register.
template <class T>
__device__ __forceinline__ uint32_t twice(T x) {
  return reinterpret_cast<const uint16_t&>(x) * 0x10001u;
}

// Of the eight numbers of a word the four pairs that a thread has of wgmma's A: nibble i and nibble
// i + 4 are put into the fractions of two large numbers, from which the same large numbers with the
// zero points are subtracted. `zero`: of the thread's row, and of the row 8 further.
template <class T>
__device__ __forceinline__ void unpack_word(uint32_t word, const uint32_t (&zero)[2],
                                            uint32_t (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    a[i] = ptx::subtract_pairs<T>(ptx::and_or(word >> 4 * i, 0x000F000F, Magic<T>::BITS * 0x10001),
                                  zero[i % 2]);
}

// Half of a group, in registers.
template <class T>
struct Half {
  static constexpr int K = GROUP / 2;
  uint32_t weights[K / MMA_K][4];

  __device__ __forceinline__ void unpack(uint4 words, const uint32_t (&zero)[2]) {
    unpack_word<T>(words.x, zero, weights[0]), unpack_word<T>(words.y, zero, weights[1]);
    unpack_word<T>(words.z, zero, weights[2]), unpack_word<T>(words.w, zero, weights[3]);
  }
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

// A consumer, a warpgroup: multiplies its 64 columns of `count` groups, each as soon as it has
// landed. While a half is multiplied, the one after it is unpacked.
template <class Shared, int COUNT>
__device__ __forceinline__ void multiply_groups(Shared& s, int count, Ring& ring,
                                                float (&acc)[COUNT]) {
  using Packed = std::remove_reference_t<decltype(s.tiles[0].W[0])>;
  const auto& first = s.tiles[0];
  const int thread = threadIdx.x % WARPGROUP, lane = thread % 32;
  const int row = thread / 32 * 16 + lane / 4;  // of wgmma's A: a column of W
  const Packed* const first_W = &first.W[warpgroup_of_block()];
  const uint64_t first_a = first.A[0].descriptor(0, 0);
  Half<typename Packed::Type> halves[2];
  float of_group[COUNT] = {}, scale[2] = {};
  unsigned before = 0;
  const auto finish_group = [&](bool is_there) {
    ptx::wgmma_wait_group<0>();
    __syncwarp();  // all lanes have read W, too
    if (lane == 0 && is_there) ptx::mbarrier_arrive(&s.empty[before]);
#pragma unroll
    for (int i = 0; i < COUNT; ++i) acc[i] += of_group[i] * scale[i / 2 % 2];
  };
#pragma unroll 1
  for (int t = 0; t < count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const uint32_t bytes = ring.buffer * sizeof first;
    const Packed& W =
        *reinterpret_cast<const Packed*>(reinterpret_cast<const char*>(first_W) + bytes);
    const uint32_t zero[] = {twice(W.zero[row]), twice(W.zero[row + 8])};
    const uint64_t a = further(first_a, bytes);
    ptx::wgmma_wait_group<1>();  // nothing reads the first half's registers
    halves[0].unpack(W.numbers[0][thread], zero);
    finish_group(t > 0);
    before = ring.buffer;
    halves[0].multiply(of_group, a, false);
    halves[1].unpack(W.numbers[1][thread], zero);
    scale[0] = as_float(W.scale[row]), scale[1] = as_float(W.scale[row + 8]);
    halves[1].multiply(of_group, further(a, sizeof first.A[0]), true);
  }
  finish_group(count > 0);
}

template <class T, int BM, int BN, int SPLIT>
__device__ __forceinline__ void consume(few_rows::SharedOf<Tiles<T, BM, BN>, SPLIT>& s,
                                        few_rows::Steps steps, Ring ring, float (&acc)[BM / 2]) {
  multiply_groups(s, steps.count, ring, acc);
}

// With `blocks` blocks on a multiprocessor. Throws CudaError where there is no TMA.
template <class T>
struct Configuration {
  int BM, BN, split;
  int (*buffers)(int blocks);
  void (*launch)(const FourBits<T>&, int blocks);
};
template <class T, int BM, int BN, int SPLIT>
void launch_configuration(const FourBits<T>& p, int blocks) {
  using Tiles = Tiles<T, BM, BN>;
  using S = few_rows::SharedOf<Tiles, SPLIT>;
  if (done_without_kernel(p)) return;
  const int buffers = few_rows::buffers_of<S>(blocks);
  launch_clusters(
      SPLIT, few_rows::gemm_kernel<S, T, ProductAlone>,
      tile_grid(ceil_div(p.M, BM) * SPLIT, ceil_div(p.N, BN)), dim3(S::THREADS), S::bytes(buffers),
      p.stream, p.M, p.N, p.K, Tiles::OperandA::map(p.A, p.M, p.K, p.lda),
      typename Tiles::SourceB{p.packed, ceil_div(p.N, PACKED_COLUMNS), ceil_div(p.K, GROUP)}, p.C,
      p.ldc, buffers, ProductAlone{});
}
template <class T, int BM, int BN, int SPLIT>
constexpr Configuration<T> configuration() {
  return {BM, BN, SPLIT, few_rows::buffers_of<few_rows::SharedOf<Tiles<T, BM, BN>, SPLIT>>,
          launch_configuration<T, BM, BN, SPLIT>};
}
template <class T>
inline constexpr Configuration<T> CONFIGURATIONS[] = {
    configuration<T, 8, 64, 1>(),   configuration<T, 8, 64, 2>(),   configuration<T, 8, 64, 4>(),
    configuration<T, 8, 64, 8>(),   configuration<T, 8, 128, 1>(),  configuration<T, 8, 128, 2>(),
    configuration<T, 8, 128, 4>(),  configuration<T, 8, 128, 8>(),  configuration<T, 8, 256, 1>(),
    configuration<T, 8, 256, 2>(),  configuration<T, 8, 256, 4>(),  configuration<T, 8, 256, 8>(),
    configuration<T, 16, 64, 1>(),  configuration<T, 16, 64, 2>(),  configuration<T, 16, 64, 4>(),
    configuration<T, 16, 64, 8>(),  configuration<T, 16, 128, 1>(), configuration<T, 16, 128, 2>(),
    configuration<T, 16, 128, 4>(), configuration<T, 16, 128, 8>(), configuration<T, 16, 256, 1>(),
    configuration<T, 16, 256, 2>(), configuration<T, 16, 256, 4>(), configuration<T, 16, 256, 8>(),
    configuration<T, 32, 128, 1>(), configuration<T, 32, 128, 2>(), configuration<T, 32, 128, 4>(),
    configuration<T, 32, 256, 1>(), configuration<T, 32, 256, 2>(), configuration<T, 32, 256, 4>(),
    configuration<T, 64, 64, 1>(),  configuration<T, 64, 64, 2>(),  configuration<T, 64, 64, 4>(),
    configuration<T, 64, 128, 1>(), configuration<T, 64, 128, 2>(), configuration<T, 64, 128, 4>()};
// Blocks on a multiprocessor that are worth a try.
inline constexpr int BLOCKS[] = {1, 2, 3};

template <class T>
void gemm(const FourBits<T>& p) {
  const Configuration<T>* best = nullptr;
  for (const Configuration<T>& c : CONFIGURATIONS<T>)
    if (best == nullptr || (best->BM < p.M && c.BM > best->BM && c.BN == 128 && c.split == 2))
      best = &c;
  best->launch(p, 1);
}

}  // namespace ladder::four_bits
