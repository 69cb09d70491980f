// refused: uses accumulators of a wgmma that it has not waited for
// Nothing was committed, and so nothing is waited for.
#include "exercise.h"

constexpr int PIPE = 2;  // buffers

struct Tiles {
  e4m3 A[64][128], B[64][128];  // the rows of both run along K
};
struct Shared {
  Tiles tiles[PIPE];
  uint64_t full[PIPE];
};

// Adds the products of 128 of K to the sums. When it returns, nobody reads the tiles any more.
static __device__ void add_products(float (&sum)[32], const Tiles& tiles) {
  float acc[32];
  ptx::wgmma_fence();
  for (int k = 0; k < 128; k += 32)
    ptx::wgmma_m64k32_f32_fp8<e4m3>(acc, ptx::wgmma_descriptor(&tiles.A[0][k], 0, 8 * 128),
                                    ptx::wgmma_descriptor(&tiles.B[0][k], 0, 8 * 128), k > 0);
  ptx::wgmma_wait_group<0>();
  for (int i = 0; i < 32; ++i) sum[i] += acc[i];
}

// Given. One block of one warpgroup: C = A * B, up to 64 x 64, any K. B is stored as N x K.
static __global__ void gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                                   const __grid_constant__ CUtensorMap map_B, float* C) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const int tiles = ceil_div(K, 128);
  const auto copy = [&](int t) {
    const int to = t % PIPE;
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    ptx::tma_load(s.tiles[to].A, &map_A, t * 128, 0, &s.full[to]);
    ptx::tma_load(s.tiles[to].B, &map_B, t * 128, 0, &s.full[to]);
  };
  if (threadIdx.x == 0)
    for (int t = 0; t < min(PIPE, tiles); ++t) copy(t);

  float sum[32] = {};
  for (int t = 0; t < tiles; ++t) {
    ptx::mbarrier_wait_parity(&s.full[t % PIPE], t / PIPE % 2);
    add_products(sum, s.tiles[t % PIPE]);
    __syncthreads();  // all are done with the buffer: it can be filled again
    if (threadIdx.x == 0 && t + PIPE < tiles) copy(t + PIPE);
  }

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 32; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row < M && column < N) C[row * N + column] = sum[i];
  }
}
