// refused: race: writes what another thread has written
// The address is that of the lane's own pair, not that of a matrix's row.
#include "exercise.h"

constexpr int WARPS = 2;

struct Shared {
  half staged[WARPS][16][64];  // a box for each warp
};

static __device__ uint32_t as_halves(float low, float high) {
  const half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// One warp: its accumulators, 16 x 64, to the matrix of the map, from (row0, column0) on. Lane l
// has of columns 8j to 8j + 7: acc[4j], acc[4j + 1] in row l / 4, acc[4j + 2], acc[4j + 3] eight
// rows below, at columns 8j + l % 4 * 2 and the next one.
static __device__ void store(const float (&acc)[32], half (&staged)[16][64], const CUtensorMap& map,
                             int row0, int column0) {
  const int lane = threadIdx.x % 32;
  for (int j = 0; j < 64; j += 16) {
    const float* const a = &acc[j / 2];
    const uint32_t blocks[4] = {as_halves(a[0], a[1]), as_halves(a[2], a[3]), as_halves(a[4], a[5]),
                                as_halves(a[6], a[7])};
    const int row = lane / 4, column = j + lane % 4 / 2 * 8;
    ptx::stmatrix_x4(&staged[row][column ^ row % 8 * 8], blocks);
  }
  ptx::fence_proxy_async();
  __syncwarp();
  if (lane == 0) {
    ptx::tma_store(&map, column0, row0, staged);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();
  }
}

// Given. Blocks of two warps, each for 16 rows and 64 columns: makes accumulators as wgmma leaves
// them. map_out has boxes of 16 rows.
static __global__ void round_kernel(int rows, int columns, const float* in, int ld_in,
                                    const __grid_constant__ CUtensorMap map_out) {
  Shared& s = dynamic_shared<Shared>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row0 = (blockIdx.y * WARPS + warp) * 16, column0 = blockIdx.x * 64;
  float acc[32];
  for (int i = 0; i < 32; ++i) {
    const int row = row0 + lane / 4 + i / 2 % 2 * 8;
    const int column = column0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
    acc[i] = row < rows && column < columns ? in[row * ld_in + column] : 0.0f;
  }
  store(acc, s.staged[warp], map_out, row0, column0);
}
