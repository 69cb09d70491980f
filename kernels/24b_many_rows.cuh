#pragma once
// 24b many_rows: C[M,N] = A[M,K] * W[K,N], fp16 or bf16, W of numbers of four bits, of which each
// 128 along K have a scale and a zero point; fp32 accumulate.
// Idea    with many rows wgmma is what takes the time, and has to run without a break. So nobody
//         waits for the sums of a group: the scale multiplies the numbers before they are
//         multiplied, rounded to T once more, and what wgmma adds up stays where it is.
// vs 24   scaled numbers. Tiles of up to 192 rows, a step of one group, the sums of all of K in
//         wgmma's accumulators.
// Limit   the tensor cores.
#include "24_four_bits.cuh"

namespace ladder::many_rows {

using few_rows::WARPGROUP;
using four_bits::Half, four_bits::Pair, four_bits::twice;

template <class T, int BM, int BN>
struct Tiles : four_bits::Tiles<T, BM, BN, GROUP> {};

// A consumer, a warpgroup: multiplies its 64 columns of every group as soon as it has landed. While
// a half is multiplied, the one after it is unpacked.
template <class T, int BM, int BN, int SPLIT>
__device__ __forceinline__ void consume(few_rows::SharedOf<Tiles<T, BM, BN>, SPLIT>& s,
                                        few_rows::Steps steps, Ring ring, float (&acc)[BM / 2]) {
  const int thread = threadIdx.x % WARPGROUP, lane = thread % 32;
  const int row = thread / 32 * 16 + lane / 4;  // of wgmma's A: a column of W
  const auto& first = s.tiles[0];
  const Packed<T>* const first_W = first.W[warpgroup_of_block()];
  const uint64_t first_a = first.A[0].descriptor(0, 0);
#pragma unroll 1
  for (int t = 0; t < steps.count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const uint32_t bytes = ring.buffer * sizeof first;
    const Packed<T>& W =
        *reinterpret_cast<const Packed<T>*>(reinterpret_cast<const char*>(first_W) + bytes);
    const uint64_t a = further(first_a, bytes);
    const Pair<uint32_t> zero = {twice(W.zero[row]), twice(W.zero[row + 8])},
                         scale = {twice(W.scale[row]), twice(W.scale[row + 8])};
    Half<T> left, right;
    left.unpack(W.numbers[0][thread], zero);
    left.scale(scale);
    left.multiply(acc, a, true);
    right.unpack(W.numbers[1][thread], zero);
    right.scale(scale);
    right.multiply(acc, further(a, sizeof first.A[0]), true);
    ptx::wgmma_wait_group<0>();
    __syncwarp();  // all lanes have read W
    if (lane == 0) ptx::mbarrier_arrive(&s.empty[ring.buffer]);
  }
}

#ifndef __CUDACC_RTC__
using four_bits::Configuration;
template <class T, int BM, int BN, int SPLIT>
constexpr Configuration<T> configuration() {
  return four_bits::configuration_of<T, Tiles<T, BM, BN>, SPLIT>();
}
template <class T>
inline constexpr Configuration<T> CONFIGURATIONS[] = {
    configuration<T, 64, 128, 1>(),  configuration<T, 64, 128, 2>(),
    configuration<T, 64, 256, 1>(),  configuration<T, 64, 256, 2>(),
    configuration<T, 128, 128, 1>(), configuration<T, 128, 128, 2>(),
    configuration<T, 192, 128, 1>(), configuration<T, 192, 128, 2>()};

template <class T>
void gemm(const FourBits<T>& p) {
  CONFIGURATIONS<T>[4].launch(p, 1);
}
#endif  // __CUDACC_RTC__

}  // namespace ladder::many_rows
