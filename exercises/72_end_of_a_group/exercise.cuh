#include "exercise.h"

constexpr int ROWS = 16, COLUMNS = 64;  // of a box, and of a tile

struct Shared {
  half staged[ROWS][COLUMNS];  // as TMA wants it: swizzled
};

// One warp: two columns a lane. C[row][n] = A[row] * B[group][n], for one tile.
static __device__ void multiply(half (&staged)[ROWS][COLUMNS], const half* A, const half* B, int M,
                                int N, int group, int row0, int column0) {
  const int column = column0 + 2 * threadIdx.x;
  for (int i = 0; i < ROWS; ++i) {
    float2 c = {0, 0};
    if (row0 + i < M && column < N) {
      const float a = __half2float(A[row0 + i]);
      const half2 b = reinterpret_cast<const half2&>(B[group * N + column]);
      c = {a * __low2float(b), a * __high2float(b)};
    }
    reinterpret_cast<half2&>(staged[i][2 * threadIdx.x ^ i % 8 * 8]) = __floats2half2_rn(c.x, c.y);
  }
}

// Blocks of one warp, one for each 64 columns. Rows of group g end before ends[g], where those of
// group g + 1 begin. map_C has boxes of 16 rows.
static __global__ void grouped_kernel(int M, int N, int groups, const int* ends, const half* A,
                                      const half* B, half* C,
                                      const __grid_constant__ CUtensorMap map_C) {
  Shared& s = dynamic_shared<Shared>();
  const int column0 = blockIdx.x * COLUMNS;
  for (int group = groups - 1; group >= 0; --group) {
    const int begin = group > 0 ? ends[group - 1] : 0, end = ends[group];
    for (int row0 = begin; row0 < end; row0 += ROWS) {
      multiply(s.staged, A, B, M, N, group, row0, column0);
      ptx::fence_proxy_async();  // TMA sees what this lane has written
      __syncwarp();              // and all lanes have
      if (threadIdx.x == 0) {
        ptx::tma_store(&map_C, column0, row0, s.staged);
        ptx::bulk_commit_group();
        ptx::bulk_wait_group_read<0>();  // the box may be filled again
      }
      __syncwarp();
    }
  }
}
