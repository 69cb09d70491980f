// What TMA puts where, and what wgmma finds through the descriptors of stage 09: numbered matrices
// against unit matrices, so that each element has to come back from its own place. The stages after
// 09 take theirs from parts/, which have to be the same.
#include <gtest/gtest.h>

#include "09_wgmma.cuh"
#include "gpu_test.h"
#include "harness/buffers.h"
#include "parts/descriptors.cuh"

namespace ladder {
namespace {

using wgmma::BK;
using wgmma::BM;
using wgmma::BN;
using wgmma::BOX;
using wgmma::MMA_K;
using wgmma::MMA_M;

struct Found {
  float swizzled_a[BM][BK], swizzled_b[BK][BN];  // read back element by element
  float c[BM][BN];                               // the product
};

// One tile of operands by one warpgroup, which multiplies both halves of A's rows.
__global__ void probe_kernel(const __grid_constant__ CUtensorMap map_A,
                             const __grid_constant__ CUtensorMap map_B, Found* found) {
  wgmma::Shared& s = dynamic_shared<wgmma::Shared>();
  const wgmma::Shared::Tiles& tile = s.tiles[0];
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full[0], 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.full[0], sizeof tile);
    ptx::tma_load(s.tiles[0].A, &map_A, 0, 0, &s.full[0]);
    for (int j = 0; j < BN / BOX; ++j)
      ptx::tma_load(s.tiles[0].B[j], &map_B, j * BOX, 0, &s.full[0]);
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full[0], 0);
  for (int i = threadIdx.x; i < BM * BK; i += blockDim.x) {
    const int m = i / BK, k = i % BK;
    found->swizzled_a[m][k] = __half2float(tile.A[m][swizzled(m, k)]);
  }
  for (int i = threadIdx.x; i < BK * BN; i += blockDim.x) {
    const int k = i / BN, n = i % BN;
    found->swizzled_b[k][n] = __half2float(tile.B[n / BOX][k][swizzled(k, n % BOX)]);
  }
  for (int group_m = 0; group_m < BM; group_m += MMA_M) {
    float acc[BN / 2];
    ptx::wgmma_fence();
    for (int k = 0; k < BK; k += MMA_K)
      ptx::wgmma_m64k16_f32_f16(acc, wgmma::descriptor_a(tile.A, group_m, k),
                                wgmma::descriptor_b(tile.B, k), k > 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < BN / 2; ++i)
      found->c[group_m + warp * 16 + i / 2 % 2 * 8 + lane / 4][i / 4 * 8 + lane % 4 * 2 + i % 2] =
          acc[i];
  }
}

// The number of those that differ, by one thread.
__global__ void compare_kernel(int* differ) {
  const wgmma::Shared::Tiles& tile = dynamic_shared<wgmma::Shared>().tiles[0];
  *differ = 0;
  for (int k = 0; k < BK; k += MMA_K) {
    *differ += descriptor_b(tile.B, k) != wgmma::descriptor_b(tile.B, k);
    for (int m = 0; m < BM; m += MMA_M)
      *differ += descriptor_a(tile.A, m, k) != wgmma::descriptor_a(tile.A, m, k);
  }
}

class Descriptors : public GpuTest<90, true> {
 protected:
  // A and B by the value at (row, column).
  template <class ValueA, class ValueB>
  static Found probe(ValueA a, ValueB b) {
    std::vector<half> A, B;
    for (int i = 0; i < BM * BK; ++i)
      A.push_back(__float2half(static_cast<float>(a(i / BK, i % BK))));
    for (int i = 0; i < BK * BN; ++i)
      B.push_back(__float2half(static_cast<float>(b(i / BN, i % BN))));
    harness::DeviceBuffer<half> device_a(A.size()), device_b(B.size());
    harness::DeviceBuffer<Found> device_found(1);
    device_a.upload(A);
    device_b.upload(B);
    launch(probe_kernel, dim3(1), dim3(wgmma::WARPGROUP), sizeof(wgmma::Shared), nullptr,
           ptx::tensor_map(device_a.get(), BM, BK, BK, BM),
           ptx::tensor_map(device_b.get(), BK, BN, BN, BK), device_found.get());
    std::vector<Found> found(1);
    device_found.download(found);
    return found[0];
  }
};

int row(int r, int) {
  return r;
}
int column(int, int c) {
  return c;
}

// Rows and columns are numbered one after the other: their product would not be exact in half.
TEST_F(Descriptors, FindEveryElementOfA) {
  for (const auto number : {row, column}) {
    const auto found = probe(number, [](int k, int n) { return k == n % BK; });
    for (int m = 0; m < BM; ++m)
      for (int n = 0; n < BN; ++n) {
        ASSERT_EQ(number(m, n % BK), found.c[m][n]) << m << " " << n;
        ASSERT_EQ(number(m, n % BK), found.swizzled_a[m][n % BK]) << m << " " << n;
      }
  }
}

TEST_F(Descriptors, FindEveryElementOfB) {
  for (const auto number : {row, column}) {
    const auto found = probe([](int m, int k) { return k == m % BK; }, number);
    for (int m = 0; m < BM; ++m)
      for (int n = 0; n < BN; ++n) {
        ASSERT_EQ(number(m % BK, n), found.c[m][n]) << m << " " << n;
        ASSERT_EQ(number(m % BK, n), found.swizzled_b[m % BK][n]) << m << " " << n;
      }
  }
}

TEST_F(Descriptors, OfThePartsAreThoseOfStage09) {
  harness::DeviceBuffer<int> device_differ(1);
  launch(compare_kernel, dim3(1), dim3(1), sizeof(wgmma::Shared), nullptr, device_differ.get());
  std::vector<int> differ(1);
  device_differ.download(differ);
  EXPECT_EQ(0, differ[0]);
}

}  // namespace

}  // namespace ladder
