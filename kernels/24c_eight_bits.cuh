#pragma once
// 24c eight_bits: C[M,N] = A[M,K] * W[K,N], fp16 or bf16, W of int8 or e4m3, fp32 accumulate.
// Idea    numbers of eight bits are made into numbers of 16 by as few instructions: of int8 by a
//         subtraction that does with the sign what 24's does with the zero point, of e4m3 by moving
//         the bits, and a product that mends the exponent.
// vs 24b  how a word is unpacked, and twice the bytes. All else are the kernels of 24 and 24b.
// Limit   as there: memory up to 32 rows, the tensor cores with hundreds.
#include "24b_many_rows.cuh"
#include "eight_bits.cuh"

namespace ladder::eight_bits {

using four_bits::Half;

// Of a word's bytes 0 and 2, or 1 and 3, two numbers of T.
template <class T, Number NUMBER>
__device__ __forceinline__ uint32_t pair_of(uint32_t word, bool odd) {
  constexpr bool IS_HALF = std::is_same_v<T, half>;
  if constexpr (NUMBER == Number::INT8) {
    // The lowest seven bits less 128 if the highest is set: the large numbers 1024 and 128 (see
    // Magic) have room for eight bits, bf16's with the next exponent.
    constexpr uint32_t LARGE = Magic<T>::BITS * 0x10001;
    const uint32_t x = odd ? word >> 8 : word;
    return ptx::subtract_pairs<T>(ptx::and_or(x, 0x007F007F, LARGE),
                                  ptx::and_or(x, 0x00800080, LARGE));
  } else {
    // With the exponent's four bits in the lowest of T's, a number is too small by the difference
    // of what the two add to an exponent: 15 - 7, or 127 - 7.
    constexpr uint32_t MASK = IS_HALF ? 0x3F803F80 : 0x07F007F0;
    constexpr uint32_t TOO_SMALL_BY = (IS_HALF ? 0x5C00 : 0x7B80) * 0x10001;  // 2^8, 2^120
    const uint32_t x = odd ? word : word << 8;
    const uint32_t bits = ptx::and_or(x >> (IS_HALF ? 1 : 4), MASK, x & 0x80008000);
    return ptx::multiply_pairs<T>(bits, TOO_SMALL_BY);
  }
}

struct NoZeros {};
template <class T, Number NUMBER>
__device__ __forceinline__ NoZeros zeros(const Packed<T, NUMBER>&, int) {
  return {};
}

template <class T, Number NUMBER>
__device__ __forceinline__ void unpack(Half<T>& half, const Packed<T, NUMBER>& W, int part,
                                       int thread, NoZeros) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint4 words = W.numbers[part][i][thread];
#pragma unroll
    for (int reg = 0; reg < 4; ++reg) {
      half.weights[2 * i][reg] = pair_of<T, NUMBER>(reg < 2 ? words.x : words.y, reg % 2 == 1);
      half.weights[2 * i + 1][reg] = pair_of<T, NUMBER>(reg < 2 ? words.z : words.w, reg % 2 == 1);
    }
  }
}

template <class T, Number NUMBER>
void gemm(const PackedProduct<T, Packed<T, NUMBER>>& p) {
  many_rows::gemm(p);
}

}  // namespace ladder::eight_bits
