// refused: wgmma reads past the end of the launch's dynamic shared memory
// The address keeps its last four bits.
#include "exercise.h"

struct Shared {
  half A[128][64];  // rows along k
  half B[64][64];   // rows along n
  uint64_t full;
};

// Where wgmma finds A from row m and column k of the tile on: 64 rows, 16 columns. The tile begins
// at byte `tile` of shared memory.
static __device__ uint64_t descriptor_a(uint64_t tile, int m, int k) {
  const uint64_t address = tile + m * 128 + k * sizeof(half);
  const uint64_t stride_bytes = 8 * 128, swizzle = 1;
  return address | stride_bytes >> 4 << 32 | swizzle << 62;
}

// Given. One block of two warpgroups: C = A * B, 128 x 64, K up to 64.
static __global__ void gemm_kernel(int M, int N, const __grid_constant__ CUtensorMap map_A,
                                   const __grid_constant__ CUtensorMap map_B, float* C, int ldc) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.A + sizeof s.B);
    ptx::tma_load(s.A, &map_A, 0, 0, &s.full);
    ptx::tma_load(s.B, &map_B, 0, 0, &s.full);
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full, 0);

  // The address of A's tile: ptx::wgmma_descriptor has it, too.
  const uint64_t tile = (ptx::wgmma_descriptor(&s.A[0][0], 0, 0) & 0x3FFF) << 4;
  const int group_m = threadIdx.x / 128 * 64;  // this warpgroup's rows
  float acc[32];
  ptx::wgmma_fence();
  for (int k = 0; k < 64; k += 16)
    ptx::wgmma_m64k16_f32_f16(acc, descriptor_a(tile, group_m, k),
                              ptx::wgmma_descriptor(&s.B[k][0], 0, 8 * sizeof s.B[0]), k > 0);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 32; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row < M && column < N) C[row * ldc + column] = acc[i];
  }
}
