#pragma once
// Where 16-byte chunks of a row are put, so that no two that are used together share banks: the
// swizzle of 07b, which is TMA's 128-byte swizzle as well.
#include "../launch.cuh"

namespace ladder {

// Where column `col` of row `row` is stored, rows being multiples of 64 halves: the number of a
// chunk of eight halves is XORed with the row's.
__device__ __forceinline__ int swizzled(int row, int col) {
  return col ^ row % 8 * 8;
}
// The same of elements of another size.
template <class T>
__device__ __forceinline__ int swizzled(int row, int col) {
  return col ^ row % 8 * (16 / static_cast<int>(sizeof(T)));
}

}  // namespace ladder
