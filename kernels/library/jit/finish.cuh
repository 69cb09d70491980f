#pragma once
// A user's epilogue as the function object that kernels take: parts/epilogue.cuh says which of the
// sums a lane has. `Arguments` has the user's fields, and his function of an element.
#include "ptx/forgotten.cuh"

namespace ladder::jit {

struct Finish {
  Arguments arguments;

  struct Columns {};
  __device__ __forceinline__ Columns columns(int, int, int, int) const { return {}; }

  template <int ROWS>
  __device__ __forceinline__ void piece(float* acc, int row0, int rows, const Columns&, int m0,
                                        int n0, int M, int N, int lane) const {
    // No offset of a row is kept from one box of columns for the next: there are not the registers.
    row0 = ptx::forgotten(row0);
#pragma unroll
    for (int row = 0; row < ROWS; row += 8)
      if (row < rows)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int m = m0 + row0 + row + lane % 4 * 2 + i % 2, n = n0 + i / 2 * 8 + lane / 4;
          float& x = acc[row / 2 + i];
          if (m < M && n < N) x = arguments(x, m, n);
        }
  }
};

}  // namespace ladder::jit
