#pragma once
// wgmma (sm_90a): a warpgroup, four warps, multiplies operands that lie in shared memory. PTX ISA,
// "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cuda_fp16.h>

  #include <cstdint>

// clang-format off
namespace ladder::ptx {

// Where an operand lies: a tile that TMA brought with the 128-byte swizzle, in units of eight rows
// of 128 bytes (1024 bytes, aligned to that). Fields in 16 bytes: address, distance between units
// in the leading dimension, distance in the other one, swizzle.
__device__ __forceinline__ uint64_t wgmma_descriptor(const half* tile, uint64_t leading_bytes,
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

// The instruction names each accumulator, "%0, %1, ...": the first so many names that begin with
// the same tens. The compiler gets each as an operand of the asm statement, eight at a time.
#define WGMMA_2(ten)  "%" #ten "0, %" #ten "1"
#define WGMMA_4(ten)  WGMMA_2(ten) ", %" #ten "2, %" #ten "3"
#define WGMMA_6(ten)  WGMMA_4(ten) ", %" #ten "4, %" #ten "5"
#define WGMMA_8(ten)  WGMMA_6(ten) ", %" #ten "6, %" #ten "7"
#define WGMMA_10(ten) WGMMA_8(ten) ", %" #ten "8, %" #ten "9, "
#define WGMMA_30      WGMMA_10() WGMMA_10(1) WGMMA_10(2)
#define WGMMA_60      WGMMA_30 WGMMA_10(3) WGMMA_10(4) WGMMA_10(5)
#define WGMMA_90      WGMMA_60 WGMMA_10(6) WGMMA_10(7) WGMMA_10(8)
#define WGMMA_120     WGMMA_90 WGMMA_10(9) WGMMA_10(10) WGMMA_10(11)
#define WGMMA_D8(i)                                                                           \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define WGMMA_D32(i) WGMMA_D8(i), WGMMA_D8(i + 8), WGMMA_D8(i + 16), WGMMA_D8(i + 24)
// The operands that are constants.
#define WGMMA_NOT_NEGATED "1, 1"  // neither A nor B
#define WGMMA_A_ALONG_K   "0"     // A's rows run along k,
#define WGMMA_B_ALONG_N   "1"     // B's along n, which wgmma calls transposed

// d = a * b, or d += a * b with `accumulate`: 64x16 times 16xN of half, accumulated in fp32, N
// twice the length of d. A's rows run along k, B's along n. Warp w of the group holds rows 16w to
// 16w + 15 of d, laid out as by N / 8 mma.syncs side by side. A, B and ACCUMULATE are the numbers
// of these operands, which follow the accumulators.
#define WGMMA_M64K16_F32_F16(N, NAMES, A, B, ACCUMULATE, ...)                                    \
  __device__ __forceinline__ void wgmma_m64k16_f32_f16(float(&d)[N / 2], uint64_t a, uint64_t b, \
                                                       bool accumulate) {                        \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #ACCUMULATE ", 0;\n"                       \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" NAMES "}, "          \
                 "%" #A ", %" #B ", p, " WGMMA_NOT_NEGATED ", " WGMMA_A_ALONG_K ", "             \
                 WGMMA_B_ALONG_N ";\n}"                                                          \
                 : __VA_ARGS__                                                                   \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                           \
  }
WGMMA_M64K16_F32_F16(64, WGMMA_30 WGMMA_2(3), 32, 33, 34, WGMMA_D32(0))
WGMMA_M64K16_F32_F16(128, WGMMA_60 WGMMA_4(6), 64, 65, 66, WGMMA_D32(0), WGMMA_D32(32))
WGMMA_M64K16_F32_F16(192, WGMMA_90 WGMMA_6(9), 96, 97, 98, WGMMA_D32(0), WGMMA_D32(32),
                     WGMMA_D32(64))
WGMMA_M64K16_F32_F16(256, WGMMA_120 WGMMA_8(12), 128, 129, 130, WGMMA_D32(0), WGMMA_D32(32),
                     WGMMA_D32(64), WGMMA_D32(96))

#undef WGMMA_2
#undef WGMMA_4
#undef WGMMA_6
#undef WGMMA_8
#undef WGMMA_10
#undef WGMMA_30
#undef WGMMA_60
#undef WGMMA_90
#undef WGMMA_120
#undef WGMMA_D8
#undef WGMMA_D32
#undef WGMMA_NOT_NEGATED
#undef WGMMA_A_ALONG_K
#undef WGMMA_B_ALONG_N
#undef WGMMA_M64K16_F32_F16

// clang-format on

}  // namespace ladder::ptx
#endif
