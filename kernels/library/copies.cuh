#pragma once
// A pass that copies matrices to rows that begin elsewhere: all of them in one launch, because a
// launch takes longer than the copy of a small matrix.
#include "../launch.cuh"
#include "copies.h"

namespace ladder::library {

constexpr int COPY_WARPS = 8;
constexpr int COPIED = 8;  // elements of a lane, which are loaded before any is stored
constexpr int COPY_COLUMNS = COPIED * 32;  // of a row, that a warp copies

template <class T>
__host__ __device__ __forceinline__ int64_t warps_for(const RowsToCopy<T>& copy) {
  return copy.rows * ((copy.columns + COPY_COLUMNS - 1) / COPY_COLUMNS);
}

template <class T>
__global__ void __launch_bounds__(COPY_WARPS * 32) copy_rows_kernel(const AllRowsToCopy<T> copies) {
  int64_t warp = int64_t{blockIdx.x} * COPY_WARPS + threadIdx.x / 32;
  int which = 0;
  while (which < copies.count && warp >= warps_for(copies.all[which]))
    warp -= warps_for(copies.all[which++]);
  if (which == copies.count) return;
  const RowsToCopy<T>& copy = copies.all[which];
  const int64_t row = warp % copy.rows, column = warp / copy.rows * COPY_COLUMNS + threadIdx.x % 32;
  const T* const from = &copy.from[row * copy.ld_from + column];
  T* const to = &copy.to[row * copy.ld_to + column];
  T elements[COPIED];
#pragma unroll
  for (int i = 0; i < COPIED; ++i)
    if (column + i * 32 < copy.columns) elements[i] = from[i * 32];
#pragma unroll
  for (int i = 0; i < COPIED; ++i)
    if (column + i * 32 < copy.columns) to[i * 32] = elements[i];
}

#ifndef __CUDACC_RTC__
template <class T>
void copy_rows(const AllRowsToCopy<T>& copies, cudaStream_t stream) {
  int64_t warps = 0;
  for (int i = 0; i < copies.count; ++i) warps += warps_for(copies.all[i]);
  if (warps == 0) return;
  launch(copy_rows_kernel<T>, dim3(static_cast<unsigned>((warps + COPY_WARPS - 1) / COPY_WARPS)),
         dim3(COPY_WARPS * 32), 0, stream, copies);
}
#endif  // __CUDACC_RTC__

}  // namespace ladder::library
