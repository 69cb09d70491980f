#pragma once
// A pass that transposes a matrix, for a kernel that cannot read it as it is stored.
#include "../launch.cuh"

namespace ladder {

constexpr int TURNED = 32;  // rows, and columns, that a block turns
constexpr int PASS_WARPS = 8;

// to[column][row] = from[row][column].
template <class T>
__global__ void __launch_bounds__(PASS_WARPS * 32)
    transpose_kernel(int rows, int columns, const T* from, int64_t ld_from, T* to, int64_t ld_to) {
  // An odd number of words a row: no two of a column in one bank.
  __shared__ T turned[TURNED][TURNED + 4 / sizeof(T)];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = ceil_div(columns, TURNED);
  const int row0 = blockIdx.x / across * TURNED, column0 = blockIdx.x % across * TURNED;
  for (int i = warp; i < TURNED; i += PASS_WARPS)
    if (row0 + i < rows && column0 + lane < columns)
      turned[i][lane] = from[(row0 + i) * ld_from + column0 + lane];
  __syncthreads();
  for (int i = warp; i < TURNED; i += PASS_WARPS)
    if (row0 + lane < rows && column0 + i < columns)
      to[(column0 + i) * ld_to + row0 + lane] = turned[lane][i];
}

#ifndef __CUDACC_RTC__
template <class T>
void transpose(int rows, int columns, const T* from, int64_t ld_from, T* to, int64_t ld_to,
               cudaStream_t stream) {
  launch(transpose_kernel<T>, dim3(ceil_div(rows, TURNED) * ceil_div(columns, TURNED)),
         dim3(PASS_WARPS * 32), 0, stream, rows, columns, from, ld_from, to, ld_to);
}
#endif  // __CUDACC_RTC__

}  // namespace ladder
