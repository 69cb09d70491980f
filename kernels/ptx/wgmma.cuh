#pragma once
// wgmma (sm_90a): a warpgroup, four warps, multiplies operands that lie in shared memory, or, of A,
// in its registers. PTX ISA,
// "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cuda_bf16.h>
  #include <cuda_fp16.h>
  #include <cuda_fp8.h>

  #include <cstdint>
  #include <type_traits>

// clang-format off
namespace ladder::ptx {

// Where an operand lies: a tile that TMA brought with the 128-byte swizzle, in units of eight rows
// of 128 bytes (1024 bytes, aligned to that). Fields in 16 bytes: address, distance between units
// in the leading dimension, distance in the other one, swizzle.
__device__ __forceinline__ uint64_t wgmma_descriptor(const void* tile, uint64_t leading_bytes,
                                                     uint64_t stride_bytes) {
  constexpr uint64_t SWIZZLE_128B = 1;
  const uint64_t address = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
  return (address & 0x3FFFF) >> 4 | leading_bytes >> 4 << 16 | stride_bytes >> 4 << 32 |
         SWIZZLE_128B << 62;
}

// Orders what this warpgroup wrote to its registers before the wgmmas that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes the group of all wgmmas started since the last one.
__device__ __forceinline__ void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most N groups are still running.
template <int N>
__device__ __forceinline__ void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// What the rows of an operand run along in shared memory: k, or m of wgmma's A and n of its B.
enum class Major { K, MN };

// The instruction names each accumulator, "%0, %1, ...", and the compiler gets each as an operand of
// the asm statement. Both are lists, of X(0), X(1), ..., as many as the macro's name says.
#define WGMMA_4(X)   X(0), X(1), X(2), X(3)
#define WGMMA_8(X)   WGMMA_4(X), X(4), X(5), X(6), X(7)
#define WGMMA_12(X)  WGMMA_8(X), X(8), X(9), X(10), X(11)
#define WGMMA_16(X)  WGMMA_12(X), X(12), X(13), X(14), X(15)
#define WGMMA_20(X)  WGMMA_16(X), X(16), X(17), X(18), X(19)
#define WGMMA_24(X)  WGMMA_20(X), X(20), X(21), X(22), X(23)
#define WGMMA_28(X)  WGMMA_24(X), X(24), X(25), X(26), X(27)
#define WGMMA_32(X)  WGMMA_28(X), X(28), X(29), X(30), X(31)
#define WGMMA_36(X)  WGMMA_32(X), X(32), X(33), X(34), X(35)
#define WGMMA_40(X)  WGMMA_36(X), X(36), X(37), X(38), X(39)
#define WGMMA_44(X)  WGMMA_40(X), X(40), X(41), X(42), X(43)
#define WGMMA_48(X)  WGMMA_44(X), X(44), X(45), X(46), X(47)
#define WGMMA_52(X)  WGMMA_48(X), X(48), X(49), X(50), X(51)
#define WGMMA_56(X)  WGMMA_52(X), X(52), X(53), X(54), X(55)
#define WGMMA_60(X)  WGMMA_56(X), X(56), X(57), X(58), X(59)
#define WGMMA_64(X)  WGMMA_60(X), X(60), X(61), X(62), X(63)
#define WGMMA_68(X)  WGMMA_64(X), X(64), X(65), X(66), X(67)
#define WGMMA_72(X)  WGMMA_68(X), X(68), X(69), X(70), X(71)
#define WGMMA_76(X)  WGMMA_72(X), X(72), X(73), X(74), X(75)
#define WGMMA_80(X)  WGMMA_76(X), X(76), X(77), X(78), X(79)
#define WGMMA_84(X)  WGMMA_80(X), X(80), X(81), X(82), X(83)
#define WGMMA_88(X)  WGMMA_84(X), X(84), X(85), X(86), X(87)
#define WGMMA_92(X)  WGMMA_88(X), X(88), X(89), X(90), X(91)
#define WGMMA_96(X)  WGMMA_92(X), X(92), X(93), X(94), X(95)
#define WGMMA_100(X) WGMMA_96(X), X(96), X(97), X(98), X(99)
#define WGMMA_104(X) WGMMA_100(X), X(100), X(101), X(102), X(103)
#define WGMMA_108(X) WGMMA_104(X), X(104), X(105), X(106), X(107)
#define WGMMA_112(X) WGMMA_108(X), X(108), X(109), X(110), X(111)
#define WGMMA_116(X) WGMMA_112(X), X(112), X(113), X(114), X(115)
#define WGMMA_120(X) WGMMA_116(X), X(116), X(117), X(118), X(119)
#define WGMMA_124(X) WGMMA_120(X), X(120), X(121), X(122), X(123)
#define WGMMA_128(X) WGMMA_124(X), X(124), X(125), X(126), X(127)
#define WGMMA_NAME(i)    %i
#define WGMMA_OPERAND(i) "+f"(d[i])
#define WGMMA_INTEGER(i) "+r"(d[i])
#define WGMMA_TEXT(...)  WGMMA_QUOTED(__VA_ARGS__)  // after the list is written out
#define WGMMA_QUOTED(...) #__VA_ARGS__
// The operands that are constants.
#define WGMMA_NOT_NEGATED ", 1, 1"  // neither A nor B

// d = a * b, or d += a * b with `accumulate`: 64xK times KxN, accumulated in fp32, N twice the
// length of d. TYPES has K and the formats, and 32 bytes are K of them. Warp w of the group holds rows 16w to 16w + 15 of d, laid out as by N / 8
// mma.syncs side by side. A, B and ACCUMULATE are the numbers of these operands, which follow the
// accumulators: A is how many of those there are.
#define WGMMA_ALONG_K(NAME, TYPES, N, A, B, ACCUMULATE)                                           \
  __device__ __forceinline__ void NAME(float(&d)[A], uint64_t a, uint64_t b, bool accumulate) {   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #ACCUMULATE ", 0;\n"                        \
                 "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {"                                \
                 WGMMA_TEXT(WGMMA_##A(WGMMA_NAME)) "}, %" #A ", %" #B ", p" WGMMA_NOT_NEGATED     \
                 ";\n}"                                                                           \
                 : WGMMA_##A(WGMMA_OPERAND)                                                       \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                            \
  }
// Of 16 bits the instruction has a word for each operand, its two last ones: 0 where rows run along
// k in shared memory, 1 where they run along m or n, which wgmma calls transposed.
#define WGMMA_16_BITS(NAME, TYPES, N, A, B, ACCUMULATE, MAJOR_A, MAJOR_B)                         \
  template <Major OF_A, Major OF_B>                                                               \
  __device__ __forceinline__ void NAME(float(&d)[A], uint64_t a, uint64_t b, bool accumulate) {   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #ACCUMULATE ", 0;\n"                        \
                 "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {"                                \
                 WGMMA_TEXT(WGMMA_##A(WGMMA_NAME)) "}, %" #A ", %" #B ", p" WGMMA_NOT_NEGATED     \
                 ", %" #MAJOR_A ", %" #MAJOR_B ";\n}"                                             \
                 : WGMMA_##A(WGMMA_OPERAND)                                                       \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)),                             \
                   "n"(static_cast<int>(OF_A)), "n"(static_cast<int>(OF_B)));                     \
  }
// Integers of 8 bits have no signs to change, and sums of 32 bits. N is 8, 24 or a multiple of 16.
#define WGMMA_INTEGERS(NAME, TYPES, N, A, B, ACCUMULATE)                                          \
  __device__ __forceinline__ void NAME(int32_t(&d)[A], uint64_t a, uint64_t b, bool accumulate) { \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #ACCUMULATE ", 0;\n"                        \
                 "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {"                                \
                 WGMMA_TEXT(WGMMA_##A(WGMMA_NAME)) "}, %" #A ", %" #B ", p;\n}"                   \
                 : WGMMA_##A(WGMMA_INTEGER)                                                       \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                            \
  }
// A from registers: each thread has its part of 64 x 16, and the instruction has a word for B alone.
// A0 to A3 are the numbers of these registers.
#define WGMMA_A_OF_TYPE(NAME, TYPES, N, A, A0, A1, A2, A3, B, ACCUMULATE, MAJOR_B)                \
  template <Major OF_B>                                                                           \
  __device__ __forceinline__ void NAME(float(&d)[A], const uint32_t(&a)[4], uint64_t b,           \
                                       bool accumulate) {                                         \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #ACCUMULATE ", 0;\n"                        \
                 "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {"                                \
                 WGMMA_TEXT(WGMMA_##A(WGMMA_NAME)) "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3      \
                 "}, %" #B ", p" WGMMA_NOT_NEGATED ", %" #MAJOR_B ";\n}"                          \
                 : WGMMA_##A(WGMMA_OPERAND)                                                       \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),                            \
                   "r"(static_cast<int>(accumulate)), "n"(static_cast<int>(OF_B)));               \
  }
#define WGMMA_A_IN_REGISTERS(...)                                                                 \
  WGMMA_A_OF_TYPE(wgmma_m64k16_of_f16, "k16.f32.f16.f16", __VA_ARGS__)                            \
  WGMMA_A_OF_TYPE(wgmma_m64k16_of_bf16, "k16.f32.bf16.bf16", __VA_ARGS__)
// Of 8 bits, and of tf32, both operands' rows run along k, and the instruction has no word for
// anything else.
#define WGMMA_FUNCTIONS(N, A, B, ACCUMULATE, MAJOR_A, MAJOR_B)                                    \
  WGMMA_16_BITS(wgmma_m64k16_of_f16, "k16.f32.f16.f16", N, A, B, ACCUMULATE, MAJOR_A, MAJOR_B)    \
  WGMMA_16_BITS(wgmma_m64k16_of_bf16, "k16.f32.bf16.bf16", N, A, B, ACCUMULATE, MAJOR_A, MAJOR_B) \
  WGMMA_ALONG_K(wgmma_m64k8_f32_tf32, "k8.f32.tf32.tf32", N, A, B, ACCUMULATE)                    \
  WGMMA_ALONG_K(wgmma_m64k32_f32_e4m3, "k32.f32.e4m3.e4m3", N, A, B, ACCUMULATE)                  \
  WGMMA_ALONG_K(wgmma_m64k32_f32_e5m2, "k32.f32.e5m2.e5m2", N, A, B, ACCUMULATE)                  \
  WGMMA_INTEGERS(wgmma_m64k32_s32_s8, "k32.s32.s8.s8", N, A, B, ACCUMULATE)
WGMMA_FUNCTIONS(8, 4, 5, 6, 7, 8)
WGMMA_FUNCTIONS(16, 8, 9, 10, 11, 12)
WGMMA_FUNCTIONS(24, 12, 13, 14, 15, 16)
WGMMA_FUNCTIONS(32, 16, 17, 18, 19, 20)
WGMMA_FUNCTIONS(40, 20, 21, 22, 23, 24)
WGMMA_FUNCTIONS(48, 24, 25, 26, 27, 28)
WGMMA_FUNCTIONS(56, 28, 29, 30, 31, 32)
WGMMA_FUNCTIONS(64, 32, 33, 34, 35, 36)
WGMMA_FUNCTIONS(72, 36, 37, 38, 39, 40)
WGMMA_FUNCTIONS(80, 40, 41, 42, 43, 44)
WGMMA_FUNCTIONS(88, 44, 45, 46, 47, 48)
WGMMA_FUNCTIONS(96, 48, 49, 50, 51, 52)
WGMMA_FUNCTIONS(104, 52, 53, 54, 55, 56)
WGMMA_FUNCTIONS(112, 56, 57, 58, 59, 60)
WGMMA_FUNCTIONS(120, 60, 61, 62, 63, 64)
WGMMA_FUNCTIONS(128, 64, 65, 66, 67, 68)
WGMMA_FUNCTIONS(136, 68, 69, 70, 71, 72)
WGMMA_FUNCTIONS(144, 72, 73, 74, 75, 76)
WGMMA_FUNCTIONS(152, 76, 77, 78, 79, 80)
WGMMA_FUNCTIONS(160, 80, 81, 82, 83, 84)
WGMMA_FUNCTIONS(168, 84, 85, 86, 87, 88)
WGMMA_FUNCTIONS(176, 88, 89, 90, 91, 92)
WGMMA_FUNCTIONS(184, 92, 93, 94, 95, 96)
WGMMA_FUNCTIONS(192, 96, 97, 98, 99, 100)
WGMMA_FUNCTIONS(200, 100, 101, 102, 103, 104)
WGMMA_FUNCTIONS(208, 104, 105, 106, 107, 108)
WGMMA_FUNCTIONS(216, 108, 109, 110, 111, 112)
WGMMA_FUNCTIONS(224, 112, 113, 114, 115, 116)
WGMMA_FUNCTIONS(232, 116, 117, 118, 119, 120)
WGMMA_FUNCTIONS(240, 120, 121, 122, 123, 124)
WGMMA_FUNCTIONS(248, 124, 125, 126, 127, 128)
WGMMA_FUNCTIONS(256, 128, 129, 130, 131, 132)

// Of the 16 rows of A that its warp multiplies a thread has what it would have of sums: a[0] two
// neighbours of row lane % 32 / 4, from column lane % 4 * 2 on, a[1] the same of eight rows below,
// a[2] and a[3] those eight columns further on. They must not be written before the wgmma has been
// waited for. Of N columns, those that somebody needs.
WGMMA_A_IN_REGISTERS(8, 4, 4, 5, 6, 7, 8, 9, 10)
WGMMA_A_IN_REGISTERS(16, 8, 8, 9, 10, 11, 12, 13, 14)
WGMMA_A_IN_REGISTERS(32, 16, 16, 17, 18, 19, 20, 21, 22)
WGMMA_A_IN_REGISTERS(64, 32, 32, 33, 34, 35, 36, 37, 38)
WGMMA_A_IN_REGISTERS(128, 64, 64, 65, 66, 67, 68, 69, 70)
WGMMA_A_IN_REGISTERS(192, 96, 96, 97, 98, 99, 100, 101, 102)
WGMMA_A_IN_REGISTERS(256, 128, 128, 129, 130, 131, 132, 133, 134)

#undef WGMMA_4
#undef WGMMA_8
#undef WGMMA_12
#undef WGMMA_16
#undef WGMMA_20
#undef WGMMA_24
#undef WGMMA_28
#undef WGMMA_32
#undef WGMMA_36
#undef WGMMA_40
#undef WGMMA_44
#undef WGMMA_48
#undef WGMMA_52
#undef WGMMA_56
#undef WGMMA_60
#undef WGMMA_64
#undef WGMMA_68
#undef WGMMA_72
#undef WGMMA_76
#undef WGMMA_80
#undef WGMMA_84
#undef WGMMA_88
#undef WGMMA_92
#undef WGMMA_96
#undef WGMMA_100
#undef WGMMA_104
#undef WGMMA_108
#undef WGMMA_112
#undef WGMMA_116
#undef WGMMA_120
#undef WGMMA_124
#undef WGMMA_128
#undef WGMMA_NAME
#undef WGMMA_OPERAND
#undef WGMMA_INTEGER
#undef WGMMA_TEXT
#undef WGMMA_QUOTED
#undef WGMMA_NOT_NEGATED
#undef WGMMA_ALONG_K
#undef WGMMA_INTEGERS
#undef WGMMA_16_BITS
#undef WGMMA_A_OF_TYPE
#undef WGMMA_A_IN_REGISTERS
#undef WGMMA_FUNCTIONS

// clang-format on

// The one of the two formats of 16 bits.
template <class T, Major OF_A, Major OF_B, int COUNT>
__device__ __forceinline__ void wgmma_m64k16_f32(float (&d)[COUNT], uint64_t a, uint64_t b,
                                                 bool accumulate) {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, __nv_bfloat16>);
  if constexpr (std::is_same_v<T, half>)
    wgmma_m64k16_of_f16<OF_A, OF_B>(d, a, b, accumulate);
  else
    wgmma_m64k16_of_bf16<OF_A, OF_B>(d, a, b, accumulate);
}
// The same with A from registers.
template <class T, Major OF_B, int COUNT>
__device__ __forceinline__ void wgmma_m64k16_f32(float (&d)[COUNT], const uint32_t (&a)[4],
                                                 uint64_t b, bool accumulate) {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, __nv_bfloat16>);
  if constexpr (std::is_same_v<T, half>)
    wgmma_m64k16_of_f16<OF_B>(d, a, b, accumulate);
  else
    wgmma_m64k16_of_bf16<OF_B>(d, a, b, accumulate);
}
// Row-major matrices as they are: A's rows run along k, B's along n.
template <int COUNT>
__device__ __forceinline__ void wgmma_m64k16_f32_f16(float (&d)[COUNT], uint64_t a, uint64_t b,
                                                     bool accumulate) {
  wgmma_m64k16_f32<half, Major::K, Major::MN>(d, a, b, accumulate);
}
// The product transposed, where a tile of B's rows is wgmma's A: its rows run along m, those of
// wgmma's B along k.
template <int COUNT>
__device__ __forceinline__ void wgmma_m64k16_f32_f16_a_along_m(float (&d)[COUNT], uint64_t a,
                                                               uint64_t b, bool accumulate) {
  wgmma_m64k16_f32<half, Major::MN, Major::K>(d, a, b, accumulate);
}

// The one of the two formats of 8 bits.
template <class T, int COUNT>
__device__ __forceinline__ void wgmma_m64k32_f32_fp8(float (&d)[COUNT], uint64_t a, uint64_t b,
                                                     bool accumulate) {
  static_assert(std::is_same_v<T, __nv_fp8_e4m3> || std::is_same_v<T, __nv_fp8_e5m2>);
  if constexpr (std::is_same_v<T, __nv_fp8_e4m3>)
    wgmma_m64k32_f32_e4m3(d, a, b, accumulate);
  else
    wgmma_m64k32_f32_e5m2(d, a, b, accumulate);
}

}  // namespace ladder::ptx
#endif
