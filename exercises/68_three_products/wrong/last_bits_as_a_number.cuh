// refused: wrong result: C
// The last 13 bits by themselves are not a float: the exponent of x is missing.
#include "exercise.h"

constexpr int BK = 32;  // 128 bytes of floats

struct Tiles {
  float A[64][BK], B[64][BK];  // the rows of both run along K
};
struct Shared {
  Tiles whole;  // as they are in memory
  Tiles small;  // what a tensor core does not read of them
  uint64_t full;
};

// What a tensor core does not read of a float.
static __device__ float small_part(float x) {
  return __uint_as_float(__float_as_uint(x) & 0x1FFFu);
}

// Adds the products of 32 of K to the sums. When it returns, nobody reads the tiles any more.
static __device__ void add_products(float (&sum)[32], const Tiles& whole, const Tiles& small) {
  const auto add = [&](const float(&A)[64][BK], const float(&B)[64][BK]) {
    for (int k = 0; k < BK; k += 8)
      ptx::wgmma_m64k8_f32_tf32(sum, ptx::wgmma_descriptor(&A[0][k], 0, 8 * 128),
                                ptx::wgmma_descriptor(&B[0][k], 0, 8 * 128), true);
  };
  ptx::wgmma_fence();
  add(small.A, whole.B);
  add(whole.A, small.B);
  add(whole.A, whole.B);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
}

// Given. One block of one warpgroup: C = A * B, up to 64 x 64, any K. B is stored as N x K.
static __global__ void gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                                   const __grid_constant__ CUtensorMap map_B, float* C) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  float sum[32] = {};
  for (int t = 0; t < ceil_div(K, BK); ++t) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.whole);
      ptx::tma_load(s.whole.A, &map_A, t * BK, 0, &s.full);
      ptx::tma_load(s.whole.B, &map_B, t * BK, 0, &s.full);
    }
    ptx::mbarrier_wait_parity(&s.full, t % 2);
    // Element by element, wherever the swizzle has put it: its small part goes to the same place.
    for (int row = threadIdx.x / BK; row < 64; row += blockDim.x / BK) {
      s.small.A[row][threadIdx.x % BK] = small_part(s.whole.A[row][threadIdx.x % BK]);
      s.small.B[row][threadIdx.x % BK] = small_part(s.whole.B[row][threadIdx.x % BK]);
    }
    ptx::fence_proxy_async();  // wgmma sees what this thread has written
    __syncthreads();           // and all have
    add_products(sum, s.whole, s.small);
    __syncthreads();  // all are done with the tiles
  }

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 32; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row < M && column < N) C[row * N + column] = sum[i];
  }
}
