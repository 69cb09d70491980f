// refused: race: TMA overwrites what wgmma may still be reading
// The group is closed behind the wait, which therefore does not wait for it.
#include "exercise.h"

constexpr int PIPE = 2;

struct Shared {
  struct Tiles {
    half A[128][64], B[64][64];
  };
  Tiles tiles[PIPE];
  uint64_t full[PIPE];
};

// One block of two warpgroups: C = A * B, 128 x 64, any K.
static __global__ void gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                                   const __grid_constant__ CUtensorMap map_B, float* C, int ldc) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const int tiles = ceil_div(K, 64);
  const auto copy = [&](int t) {
    const int to = t % PIPE;
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    ptx::tma_load(s.tiles[to].A, &map_A, t * 64, 0, &s.full[to]);
    ptx::tma_load(s.tiles[to].B, &map_B, 0, t * 64, &s.full[to]);
  };
  if (threadIdx.x == 0)
    for (int t = 0; t < min(PIPE, tiles); ++t) copy(t);

  const int group_m = threadIdx.x / 128 * 64;  // this warpgroup's rows
  float acc[32];
  for (int t = 0; t < tiles; ++t) {
    ptx::mbarrier_wait_parity(&s.full[t % PIPE], t / PIPE % 2);
    const Shared::Tiles& now = s.tiles[t % PIPE];
    ptx::wgmma_fence();
    for (int k = 0; k < 64; k += 16)
      ptx::wgmma_m64k16_f32_f16(
          acc, ptx::wgmma_descriptor(&now.A[group_m][k], 0, 8 * sizeof now.A[0]),
          ptx::wgmma_descriptor(&now.B[k][0], 0, 8 * sizeof now.B[0]), t > 0 || k > 0);
    ptx::wgmma_wait_group<0>();
    ptx::wgmma_commit_group();
    __syncthreads();  // all have waited: the buffer can be filled again
    if (threadIdx.x == 0 && t + PIPE < tiles) copy(t + PIPE);
  }
  ptx::wgmma_wait_group<0>();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 32; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row < M && column < N) C[row * ldc + column] = acc[i];
  }
}
