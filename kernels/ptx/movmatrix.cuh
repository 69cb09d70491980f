#pragma once
// movmatrix (sm_75): an 8x8 matrix turned without shared memory. PTX ISA, "Warp-Level Matrix
// Instructions: movmatrix".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cstdint>

namespace ladder::ptx {

// A warp's 8x8 matrix of 16-bit elements, transposed. Lane l gives two neighbours in row l / 4,
// columns 2 (l % 4) and the one after it, and gets the same two places of the transposed matrix.
__device__ __forceinline__ uint32_t movmatrix_trans(uint32_t pair) {
  uint32_t turned;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(pair));
  return turned;
}

}  // namespace ladder::ptx
#endif
