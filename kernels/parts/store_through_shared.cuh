#pragma once
// C through shared memory, as 04d writes it out: by quads of the order (1, 0, 3, 2), for the
// register banks, and out of them in the right order; here 16 bytes at a time.
#include "vector_access.cuh"

namespace ladder {

constexpr int STAGED_PITCH = 32 + 4;              // floats a row
constexpr int STAGED_FLOATS = 16 * STAGED_PITCH;  // of a warp

// A warp's elements, of which acc[i][j] has row lane_m + i / 4 * 16 + i % 4 and column lane_n + j /
// 4 * 32 + j % 4, staged in `sC`, 16 rows of 32 at a time. Every quad of them is given to
// store(row, column, quad) once; eight lanes have a row of 128 consecutive bytes.
template <int TM, int TN, class Store>
__device__ __forceinline__ void store_through_shared(const float (&acc)[TM][TN], float* sC,
                                                     int lane_m, int lane_n, Store store) {
  const int lane = threadIdx.x % 32, c_row = lane / 8, c_col = lane % 8 * 4;
#pragma unroll
  for (int i = 0; i < TM; i += 4)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      for (int r = 0; r < 4; ++r) {
        const float(&row)[TN] = acc[i + r];
        as_float4(sC[(lane_m + r) * STAGED_PITCH + lane_n]) =
            make_float4(row[j + 1], row[j], row[j + 3], row[j + 2]);
      }
      __syncwarp();
      for (int r = c_row; r < 16; r += 4) {
        const float4 v = as_float4(sC[r * STAGED_PITCH + c_col]);
        store(i * 4 + r, j * 8 + c_col, make_float4(v.y, v.x, v.w, v.z));
      }
      __syncwarp();
    }
}

}  // namespace ladder
