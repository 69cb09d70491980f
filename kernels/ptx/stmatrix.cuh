#pragma once
// stmatrix (sm_90): the reverse of ldmatrix. PTX ISA, "Warp-Level Matrix Instructions: stmatrix".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cstdint>

namespace ladder::ptx {

// Four 8x8 matrices of 16-bit elements to shared memory. Lane l brings the address of row l % 8 of
// matrix l / 8: 16 bytes, 16-byte aligned. r[i] is two neighbours in row l / 4 of matrix i.
__device__ __forceinline__ void stmatrix_x4(void* row, const uint32_t (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(row))),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

// Transposed: r[i] is two neighbours in column l / 4 of matrix i.
__device__ __forceinline__ void stmatrix_x4_trans(void* row, const uint32_t (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(row))),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

// Two matrices, whose rows the lower 16 lanes bring.
__device__ __forceinline__ void stmatrix_x2_trans(void* row, const uint32_t (&r)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(row))),
               "r"(r[0]), "r"(r[1])
               : "memory");
}

}  // namespace ladder::ptx
#endif
