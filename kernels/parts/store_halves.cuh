#pragma once
// From accumulators to C by way of shared memory, each warp for itself: a lane has pairs of
// neighbours, a store wants eight. The rows in between are swizzled. Between the two functions a
// warp needs a __syncwarp.
#include "swizzle.cuh"

namespace ladder {

// A 16x8 accumulator of mma.sync, or the columns from col0 on of a warp's 16 rows of wgmma: rounds
// this lane's four floats to half and stages them.
template <int COLS>
__device__ __forceinline__ void stage_halves(half (*staged)[COLS], int row0, int col0,
                                             const float* acc, int lane) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = row0 + h * 8 + lane / 4, col = col0 + lane % 4 * 2;
    *reinterpret_cast<half2*>(&staged[row][swizzled(row, col)]) =
        __floats2half2_rn(acc[h * 2], acc[h * 2 + 1]);
  }
}

// The first COLS columns of a warp's 16 rows of wgmma, as pairs that `pair_of` makes of two
// neighbours' sums and the first one's column: for elements that are not of 16 bits, which stmatrix
// cannot move.
template <int COLS, class Out, class Sum, class PairOf>
__device__ __forceinline__ void stage_pairs(Out (*staged)[COLS], const Sum* sums, int lane,
                                            const PairOf& pair_of) {
#pragma unroll
  for (int i = 0; i < COLS / 4; ++i) {
    const int row = i % 2 * 8 + lane / 4, col = i / 2 * 8 + lane % 4 * 2;
    auto pair = pair_of(&sums[i * 2], col);
    *reinterpret_cast<decltype(pair)*>(&staged[row][swizzled<Out>(row, col)]) = pair;
  }
}

// ROWS staged rows to C, from its row m0 and column n0 on, a chunk of 16 bytes a lane.
template <int ROWS, int COLS, class Out>
__device__ __forceinline__ void store_staged(const Out (*staged)[COLS], Out* C, int64_t ldc, int m0,
                                             int n0, int M, int N, int lane) {
  constexpr int CHUNK = 16 / static_cast<int>(sizeof(Out));
  for (int i = lane; i < ROWS * COLS / CHUNK; i += 32) {
    const int row = i / (COLS / CHUNK), col = i % (COLS / CHUNK) * CHUNK;
    const int m = m0 + row, n = n0 + col;
    const Out* const from = &staged[row][swizzled<Out>(row, col)];
    if (m < M && n + CHUNK <= N)
      *reinterpret_cast<uint4*>(&C[m * ldc + n]) = *reinterpret_cast<const uint4*>(from);
    else if (m < M)
      for (int e = 0; e < N - n; ++e) C[m * ldc + n + e] = from[e];
  }
}

}  // namespace ladder
