// refused: deadlock: threads wait here, for a phase of an mbarrier
// `empty` takes one arrival, and there are two consumers.
#include "exercise.h"

constexpr int PIPE = 2;
constexpr int WARPGROUP = 128, CONSUMERS = 2;  // warpgroups 0 and 1 multiply, 2 copies

struct Shared {
  struct Tiles {
    half A[CONSUMERS * 64][64], B[64][64];
  };
  Tiles tiles[PIPE];
  uint64_t full[PIPE];   // a tile has landed
  uint64_t empty[PIPE];  // both consumers have multiplied it
};

// Given. One thread: fills every buffer as soon as it is empty.
static __device__ void produce(Shared& s, const CUtensorMap& map_A, const CUtensorMap& map_B,
                               int tiles) {
  for (int t = 0; t < tiles; ++t) {
    const int to = t % PIPE;
    ptx::mbarrier_wait_parity(&s.empty[to], (t / PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to]);
    ptx::tma_load(s.tiles[to].A, &map_A, t * 64, 0, &s.full[to]);
    ptx::tma_load(s.tiles[to].B, &map_B, 0, t * 64, &s.full[to]);
  }
}

// A warpgroup: multiplies its 64 rows of every tile as soon as it has landed.
static __device__ void consume(Shared& s, int tiles, float (&acc)[32]) {
  const int group_m = threadIdx.x / WARPGROUP * 64;
  for (int t = 0; t < tiles; ++t) {
    ptx::mbarrier_wait_parity(&s.full[t % PIPE], t / PIPE % 2);
    const Shared::Tiles& now = s.tiles[t % PIPE];
    ptx::wgmma_fence();
    for (int k = 0; k < 64; k += 16)
      ptx::wgmma_m64k16_f32_f16(
          acc, ptx::wgmma_descriptor(&now.A[group_m][k], 0, 8 * sizeof now.A[0]),
          ptx::wgmma_descriptor(&now.B[k][0], 0, 8 * sizeof now.B[0]), t > 0 || k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // the group of the tile before is done
    if (t > 0 && threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty[(t - 1) % PIPE]);
  }
  ptx::wgmma_wait_group<0>();
}

// Given. A warpgroup's 64 rows to C.
static __device__ void store(const float (&acc)[32], int M, int N, float* C, int ldc) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 32; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row < M && column < N) C[row * ldc + column] = acc[i];
  }
}

// One block of three warpgroups: C = A * B, 128 x 64, any K.
static __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, float* C, int ldc) {
  Shared& s = dynamic_shared<Shared>();
  const int tiles = ceil_div(K, 64);
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) produce(s, map_A, map_B, tiles);
  } else {
    ptx::setmaxnreg_inc<232>();
    float acc[32];
    consume(s, tiles, acc);
    store(acc, M, N, C, ldc);
  }
}
