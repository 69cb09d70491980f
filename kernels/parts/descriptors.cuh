#pragma once
// wgmma's descriptors of tiles as TMA brings them, rows of 64 halves, or bf16, with the 128-byte
// swizzle: what stage 09 spells out.
#include "../ptx/wgmma.cuh"

namespace ladder {

// Of row `m` and column `k` of A's tile: rows along k, eight of them 1024 bytes from the next
// eight.
template <class T, int BM>
__device__ __forceinline__ uint64_t descriptor_a(const T (&A)[BM][64], int m, int k) {
  return ptx::wgmma_descriptor(&A[m][k], 0, 8 * sizeof A[0]);
}

// Of row `k` of B's tile, from box `j` on: rows along n, in boxes of 64 columns; eight rows are
// 1024 bytes from the next eight.
template <class T, int BOXES, int BK>
__device__ __forceinline__ uint64_t descriptor_b(const T (&B)[BOXES][BK][64], int k, int j = 0) {
  static_assert(sizeof(T) == 2, "64 of them are a row of the swizzle");
  return ptx::wgmma_descriptor(&B[j][k][0], sizeof B[0], 8 * sizeof B[0][0]);
}

// Of row `row` and column `k` of a tile whose rows run along k: A's of any type, and B's where it
// is stored transposed.
template <class T, int ROWS, int BK>
__device__ __forceinline__ uint64_t descriptor_along_k(const T (&tile)[ROWS][BK], int row, int k) {
  static_assert(sizeof tile[0] == 128, "a row of the swizzle");
  return ptx::wgmma_descriptor(&tile[row][k], 0, 8 * sizeof tile[0]);
}

// The descriptor of what begins `bytes` further on: one addition, where making it takes five
// instructions. The address is the lowest field, in units of 16 bytes.
__device__ __forceinline__ uint64_t further(uint64_t descriptor, uint32_t bytes) {
  return descriptor + bytes / 16;
}

}  // namespace ladder
