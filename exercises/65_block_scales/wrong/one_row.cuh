// refused: wrong result: C
// The factor of the upper row for both.
#include "exercise.h"

constexpr int PIPE = 2;  // buffers

struct Tiles {
  e4m3 A[64][128], B[128][128];  // the rows of both run along K
};
struct Shared {
  Tiles tiles[PIPE];
  uint64_t full[PIPE];
};

// The factors. Parts are 128 of K.
struct Scales {
  const float* A;  // of a row and a part: parts x M
  const float* B;  // of 128 columns and a part: ceil(N / 128) x parts
  int parts;
};

// Adds the sums of the products of one part of K, times their factors, of 64 rows of C from 0 on
// and 128 columns from n0 on. acc is laid out as wgmma leaves it: lane l of warp w has in acc[i]
// row 16 w + l / 4 + i / 2 % 2 * 8, column i / 4 * 8 + l % 4 * 2 + i % 2.
static __device__ void add_scaled(float (&sum)[64], const float (&acc)[64], const Scales& scales,
                                  int part, int n0, int M) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float of_columns = scales.B[n0 / 128 * scales.parts + part];
  float factor[2];  // of the lane's two rows
  for (int h = 0; h < 2; ++h) {
    const int row = warp * 16 + lane / 4 + h * 8;
    factor[h] = row < M ? scales.A[part * M + row] * of_columns : 0.0f;
  }
  for (int i = 0; i < 64; ++i) sum[i] = fmaf(acc[i], factor[0], sum[i]);
}

// Given. Blocks of one warpgroup, one for each 128 columns of C, which has up to 64 rows. B is
// stored as N x K.
static __global__ void gemm_kernel(int M, int N, const __grid_constant__ CUtensorMap map_A,
                                   const __grid_constant__ CUtensorMap map_B, Scales scales,
                                   float* C) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const int n0 = blockIdx.x * 128;
  const auto copy = [&](int part) {
    const int to = part % PIPE;
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    ptx::tma_load(s.tiles[to].A, &map_A, part * 128, 0, &s.full[to]);
    ptx::tma_load(s.tiles[to].B, &map_B, part * 128, n0, &s.full[to]);
  };
  if (threadIdx.x == 0)
    for (int part = 0; part < min(PIPE, scales.parts); ++part) copy(part);

  float sum[64] = {};
  for (int part = 0; part < scales.parts; ++part) {
    ptx::mbarrier_wait_parity(&s.full[part % PIPE], part / PIPE % 2);
    const Tiles& now = s.tiles[part % PIPE];
    float acc[64];
    ptx::wgmma_fence();
    for (int k = 0; k < 128; k += 32)
      ptx::wgmma_m64k32_f32_fp8<e4m3>(acc, ptx::wgmma_descriptor(&now.A[0][k], 0, 8 * 128),
                                      ptx::wgmma_descriptor(&now.B[0][k], 0, 8 * 128), k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    __syncthreads();  // all are done with the buffer: it can be filled again
    if (threadIdx.x == 0 && part + PIPE < scales.parts) copy(part + PIPE);
    add_scaled(sum, acc, scales, part, n0, M);
  }

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 64; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8;
    const int column = n0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row < M && column < N) C[row * N + column] = sum[i];
  }
}
