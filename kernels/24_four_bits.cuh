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
template <class T, int ROWS, int COLUMNS, int ALONG_K = STEP>
struct alignas(1024) Tiles {
  static constexpr int BM = ROWS, BN = COLUMNS, BK = ALONG_K;
  static constexpr int EMPTIED_BY = WARPGROUP / 32;  // the warps, each of which reads W itself
  using OperandA = Operand<T, BM, Major::K>;
  static constexpr int BOXES_A = BK / OperandA::BK, BOXES_W = BN / PACKED_COLUMNS,
                       GROUPS = BK / GROUP;
  static constexpr uint32_t BYTES = BOXES_A * sizeof(OperandA) + sizeof(Packed<T>[BOXES_W][GROUPS]);
  struct SourceB {
    const Packed<T>* packed;
    int columns, groups;  // of which there is something packed
  };
  OperandA A[BOXES_A];
  Packed<T> W[BOXES_W][GROUPS];

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

// The same number in both halves of a register.
template <class T>
__device__ __forceinline__ uint32_t twice(T x) {
  return reinterpret_cast<const uint16_t&>(x) * 0x10001u;
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

  __device__ __forceinline__ void unpack(uint4 words, Pair<uint32_t> zero) {
    unpack_word<T>(words.x, zero, weights[0]), unpack_word<T>(words.y, zero, weights[1]);
    unpack_word<T>(words.z, zero, weights[2]), unpack_word<T>(words.w, zero, weights[3]);
  }
  __device__ __forceinline__ void scale(Pair<uint32_t> by) {
#pragma unroll
    for (auto& of_step : weights)
#pragma unroll
      for (int i = 0; i < 4; ++i) of_step[i] = ptx::multiply_pairs<T>(of_step[i], by.of_row[i % 2]);
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

template <int COUNT>
__device__ __forceinline__ void add_scaled(float (&acc)[COUNT], const float (&sums)[COUNT],
                                           Pair<float> scale) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) acc[i] += sums[i] * scale.of_row[i / 2 % 2];
}

// A consumer, a warpgroup: multiplies its 64 columns of `count` groups, each as soon as it has
// landed. While a half is multiplied, the one after it is unpacked.
template <class Shared, int COUNT>
__device__ __forceinline__ void multiply_groups(Shared& s, int count, Ring& ring,
                                                float (&acc)[COUNT]) {
  using Packed = std::remove_reference_t<decltype(s.tiles[0].W[0][0])>;
  const int thread = threadIdx.x % WARPGROUP, lane = thread % 32;
  const int row = thread / 32 * 16 + lane / 4;  // of wgmma's A: a column of W
  const Packed* const first_W = s.tiles[0].W[warpgroup_of_block()];
  const uint64_t first_a = s.tiles[0].A[0].descriptor(0, 0);
#pragma unroll 1
  for (int t = 0; t < count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const uint32_t bytes = ring.buffer * sizeof s.tiles[0];
    const Packed* const W =
        reinterpret_cast<const Packed*>(reinterpret_cast<const char*>(first_W) + bytes);
    const uint64_t a = further(first_a, bytes);
    const auto zeros = [&](int group) {
      return Pair<uint32_t>{twice(W[group].zero[row]), twice(W[group].zero[row + 8])};
    };
    const auto scales = [&](int group) {
      return Pair<float>{as_float(W[group].scale[row]), as_float(W[group].scale[row + 8])};
    };
    const Pair<uint32_t> zero_even = zeros(0), zero_odd = zeros(1);
    Half<typename Packed::Type> left, right;
    float even[COUNT], odd[COUNT];
    left.unpack(W[0].numbers[0][thread], zero_even);
    left.multiply(even, a, false);
    right.unpack(W[0].numbers[1][thread], zero_even);
    right.multiply(even, further(a, sizeof s.tiles[0].A[0]), true);
    ptx::wgmma_wait_group<1>();  // left
    left.unpack(W[1].numbers[0][thread], zero_odd);
    left.multiply(odd, further(a, 2 * sizeof s.tiles[0].A[0]), false);
    const Pair<float> scale_even = scales(0), scale_odd = scales(1);
    ptx::wgmma_wait_group<1>();  // right
    add_scaled(acc, even, scale_even);
    right.unpack(W[1].numbers[1][thread], zero_odd);
    right.multiply(odd, further(a, 3 * sizeof s.tiles[0].A[0]), true);
    ptx::wgmma_wait_group<0>();
    __syncwarp();  // all lanes have read W
    if (lane == 0) ptx::mbarrier_arrive(&s.empty[ring.buffer]);
    add_scaled(acc, odd, scale_odd);
  }
}

template <class T, int BM, int BN, int SPLIT>
__device__ __forceinline__ void consume(few_rows::SharedOf<Tiles<T, BM, BN>, SPLIT>& s,
                                        few_rows::Steps steps, Ring ring, float (&acc)[BM / 2]) {
  multiply_groups(s, steps.count, ring, acc);
}

#ifndef __CUDACC_RTC__
// What a launcher chooses among.
template <class T>
struct Configuration {
  int BM, BN, split;
  int (*buffers)(int blocks);
  void (*launch)(const FourBits<T>&, int blocks);
};
// With `blocks` blocks on a multiprocessor. Throws CudaError where there is no TMA.
template <class T, class Tiles, int SPLIT>
void launch_configuration(const FourBits<T>& p, int blocks) {
  using S = few_rows::SharedOf<Tiles, SPLIT>;
  if (done_without_kernel(p)) return;
  const int buffers = few_rows::buffers_of<S>(blocks);
  launch_clusters(
      SPLIT, few_rows::gemm_kernel<S, T, ProductAlone>,
      tile_grid(ceil_div(p.M, Tiles::BM) * SPLIT, ceil_div(p.N, Tiles::BN)), dim3(S::THREADS),
      S::bytes(buffers), p.stream, p.M, p.N, p.K, Tiles::OperandA::map(p.A, p.M, p.K, p.lda),
      typename Tiles::SourceB{p.packed, ceil_div(p.N, PACKED_COLUMNS), padded_groups(p.K)}, p.C,
      p.ldc, buffers, ProductAlone{});
}
template <class T, class Tiles, int SPLIT>
constexpr Configuration<T> configuration_of() {
  return {Tiles::BM, Tiles::BN, SPLIT, few_rows::buffers_of<few_rows::SharedOf<Tiles, SPLIT>>,
          launch_configuration<T, Tiles, SPLIT>};
}
template <class T, int BM, int BN, int SPLIT>
constexpr Configuration<T> configuration() {
  return configuration_of<T, Tiles<T, BM, BN>, SPLIT>();
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

#endif  // __CUDACC_RTC__

}  // namespace ladder::four_bits
