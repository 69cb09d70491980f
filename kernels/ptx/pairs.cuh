#pragma once
// Two numbers of 16 bits in a register, made of others. PTX ISA, "Logic and Shift Instructions:
// lop3", "Half Precision Floating Point Instructions: sub, mul".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cuda_bf16.h>
  #include <cuda_fp16.h>

  #include <cstdint>
  #include <type_traits>

namespace ladder::ptx {

// (x & mask) | bits, by one instruction. Of the two in C++ the compiler makes two where mask and
// bits are constants: an instruction has one.
__device__ __forceinline__ uint32_t and_or(uint32_t x, uint32_t mask, uint32_t bits) {
  constexpr uint32_t AND_OR = (0xF0 & 0xCC) | 0xAA;  // the function's values for all bits of three
  uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(x), "r"(mask), "r"(bits), "n"(AND_OR));
  return d;
}

// a - b of both halves of a register, rounded to T.
template <class T>
__device__ __forceinline__ uint32_t subtract_pairs(uint32_t a, uint32_t b) {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, __nv_bfloat16>);
  uint32_t d;
  if constexpr (std::is_same_v<T, half>)
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  else
    asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// a * b of both, rounded to T.
template <class T>
__device__ __forceinline__ uint32_t multiply_pairs(uint32_t a, uint32_t b) {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, __nv_bfloat16>);
  uint32_t d;
  if constexpr (std::is_same_v<T, half>)
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  else
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

}  // namespace ladder::ptx
#endif
