#include "exercise.h"

constexpr int STEP = 8;      // of K
constexpr int THREADS = 64;  // of a block: 8 rows, 8 groups of 4 columns

struct Shared {
  float4 sums[THREADS];  // what the other block sends
  uint64_t received;     // it is here
};

// sum += an element of A times 4 elements of B.
static __device__ void add_product(float4& sum, float a, const float4& b) {
  sum.x += a * b.x, sum.y += a * b.y, sum.z += a * b.z, sum.w += a * b.w;
}

static __device__ float4 added(const float4& a, const float4& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

// C = A * B, with at most 16 rows; rows of B and C are multiples of 32 floats. Clusters of two
// blocks, one for each 32 columns.
static __global__ void gemm_kernel(int M, int N, int K, const float* A, const float* B, float* C) {
  Shared& s = dynamic_shared<Shared>();
  const int rank = blockIdx.x % 2, column = blockIdx.x / 2 * 32 + threadIdx.x % 8 * 4;
  const int row = threadIdx.x / 8;  // and the one 8 below
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.received, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.received, sizeof s.sums);
  }
  ptx::cluster_arrive();

  float4 sums[2] = {};  // of rows `row` and `row + 8`
  for (int step = rank; step < ceil_div(K, STEP); step += 2)
    for (int k = step * STEP; k < min(K, step * STEP + STEP); ++k) {
      const float4 b = reinterpret_cast<const float4&>(B[k * N + column]);
      for (int i = 0; i < 2; ++i)
        if (row + i * 8 < M) add_product(sums[i], A[(row + i * 8) * K + k], b);
    }

  ptx::cluster_wait();  // the other block's mbarrier is there
  ptx::store_async(&s.sums[threadIdx.x], rank == 0 ? sums[1] : sums[0], &s.received, rank ^ 1);
  ptx::mbarrier_wait_parity_cluster(&s.received, 0);
  const int m = rank * 8 + row;
  if (m < M) {
    const float4 received = s.sums[threadIdx.x];  // 16 bytes at once
    reinterpret_cast<float4&>(C[m * N + column]) = added(rank == 0 ? sums[0] : sums[1], received);
  }
}
