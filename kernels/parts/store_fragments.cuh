#pragma once
// A row of WMMA's accumulators to C. Which lane holds what of an accumulator is not specified, so
// it takes the way through shared memory, where it has rows again.
#include <mma.h>

#include "vector_halves.cuh"

namespace ladder {

// One warp: FRAGMENTS accumulators beside each other, the first at row row0 and column col0 of C.
// `staged` has room for their 16 rows, each padded by 4 floats.
template <int FRAGMENTS, int PITCH, class Fragment>
__device__ __forceinline__ void store_rows(float (*staged)[PITCH], const Fragment (&acc)[FRAGMENTS],
                                           half* C, int64_t ldc, int row0, int col0, int M, int N) {
  constexpr int HEIGHT = 16, WIDTH = FRAGMENTS * 16;
  static_assert(PITCH == WIDTH + 4);
  for (int j = 0; j < FRAGMENTS; ++j)
    nvcuda::wmma::store_matrix_sync(&staged[0][j * 16], acc[j], PITCH, nvcuda::wmma::mem_row_major);
  __syncwarp();  // the whole strip is written before any lane reads it
  for (int i = threadIdx.x % 32; i < HEIGHT * WIDTH / 8; i += 32) {
    const int r = i / (WIDTH / 8), c = i % (WIDTH / 8) * 8;
    if (row0 + r < M) store8(&C[(row0 + r) * ldc + col0 + c], &staged[r][c], N - col0 - c);
  }
  __syncwarp();  // and read before the next one overwrites it
}

}  // namespace ladder
