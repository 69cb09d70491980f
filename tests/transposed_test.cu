// wgmma as stages from 13 on use it, with every number of columns there is: the product transposed,
// C^T = B^T * A^T, and its sums turned back by stmatrix. Numbered matrices against unit matrices,
// so that each element has to come back from its own place; on the GPU or on the CPU device.
#include <gtest/gtest.h>

#include <utility>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "parts/descriptors.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"

namespace ladder {
namespace {

constexpr int WARPGROUP = 128, BOX = 64, BK = 64, MMA_K = 16, MAX_ROWS = 256;

// The sums as wgmma leaves them, and turned by either stmatrix.
struct Found {
  float sums[MAX_ROWS][BOX];
  half by_two[MAX_ROWS][BOX], by_four[MAX_ROWS][BOX];
};

template <int ROWS>
struct Shared {
  half B[1][BK][BOX];
  half A[ROWS][BK];
  half staged[2][ROWS][BOX];
  uint64_t full;
};

__device__ uint32_t as_halves(float low, float high) {
  const half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// ROWS x 64 of C, by one warpgroup.
template <int ROWS>
__global__ void transposed_kernel(const __grid_constant__ CUtensorMap map_A,
                                  const __grid_constant__ CUtensorMap map_B, Found* found) {
  Shared<ROWS>& s = dynamic_shared<Shared<ROWS>>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.A + sizeof s.B);
    ptx::tma_load(s.A, &map_A, 0, 0, &s.full);
    ptx::tma_load(s.B, &map_B, 0, 0, &s.full);
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full, 0);
  float acc[ROWS / 2];
  ptx::wgmma_fence();
  for (int k = 0; k < BK; k += MMA_K)
    ptx::wgmma_m64k16_f32_f16_a_along_m(acc, descriptor_b(s.B, k), descriptor_a(s.A, 0, k), k > 0);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < ROWS / 2; ++i)
    found->sums[i / 4 * 8 + lane % 4 * 2 + i % 2][warp * 16 + i / 2 % 2 * 8 + lane / 4] = acc[i];

    // A warp has 16 columns of C: two matrices for each eight rows.
#pragma unroll
  for (int i = 0; i < ROWS / 2; i += 4) {
    const uint32_t two[2] = {as_halves(acc[i], acc[i + 1]), as_halves(acc[i + 2], acc[i + 3])};
    ptx::stmatrix_x2_trans(&s.staged[0][i * 2 + lane % 8][warp * 16 + lane / 8 % 2 * 8], two);
  }
#pragma unroll
  for (int i = 0; i + 4 < ROWS / 2; i += 8) {
    const uint32_t four[4] = {as_halves(acc[i], acc[i + 1]), as_halves(acc[i + 2], acc[i + 3]),
                              as_halves(acc[i + 4], acc[i + 5]), as_halves(acc[i + 6], acc[i + 7])};
    ptx::stmatrix_x4_trans(
        &s.staged[1][i * 2 + lane / 16 * 8 + lane % 8][warp * 16 + lane / 8 % 2 * 8], four);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < ROWS * BOX; i += WARPGROUP)
    found->by_two[i / BOX][i % BOX] = s.staged[0][i / BOX][i % BOX];
  for (int i = threadIdx.x; i < ROWS / 16 * 16 * BOX; i += WARPGROUP)
    found->by_four[i / BOX][i % BOX] = s.staged[1][i / BOX][i % BOX];
}

// A[m][k] = a(m, k), B[k][n] = b(k, n); C[m][n] has to be expected(m, n).
template <int ROWS, class ValueA, class ValueB, class Expected>
void check(ValueA a, ValueB b, Expected expected) {
  std::vector<half> A, B;
  for (int i = 0; i < ROWS * BK; ++i)
    A.push_back(__float2half(static_cast<float>(a(i / BK, i % BK))));
  for (int i = 0; i < BK * BOX; ++i)
    B.push_back(__float2half(static_cast<float>(b(i / BOX, i % BOX))));
  harness::DeviceBuffer<half> device_a(A.size()), device_b(B.size());
  harness::DeviceBuffer<Found> device_found(1);
  device_a.upload(A);
  device_b.upload(B);
  launch(transposed_kernel<ROWS>, dim3(1), dim3(WARPGROUP), sizeof(Shared<ROWS>), nullptr,
         ptx::tensor_map(device_a.get(), ROWS, BK, BK, ROWS),
         ptx::tensor_map(device_b.get(), BK, BOX, BOX, BK), device_found.get());
  std::vector<Found> found(1);
  device_found.download(found);
  for (int m = 0; m < ROWS; ++m)
    for (int n = 0; n < BOX; ++n) {
      const auto sum = static_cast<float>(expected(m, n));
      ASSERT_EQ(sum, found[0].sums[m][n]) << m << " " << n;
      ASSERT_EQ(sum, __half2float(found[0].by_two[m][n])) << m << " " << n;
      if (m < ROWS / 16 * 16) {
        ASSERT_EQ(sum, __half2float(found[0].by_four[m][n])) << m << " " << n;
      }
    }
}

int first(int i, int) {
  return i;
}
int second(int, int j) {
  return j;
}
int unit(int i, int j) {
  return i % 64 == j % 64;
}

// Rows and columns are numbered one after the other: their product would not be exact in half.
template <int ROWS>
void check_places() {
  SCOPED_TRACE(std::to_string(ROWS) + " rows");
  for (const auto number : {first, second}) {
    check<ROWS>(number, unit, number);
    check<ROWS>(unit, number, [&](int m, int n) { return number(m % 64, n); });
  }
  check<ROWS>([](int m, int k) { return m % 7 + k % 3; },
              [](int k, int n) { return k % 2 - n % 5; },
              [](int m, int n) {
                int sum = 0;
                for (int k = 0; k < BK; ++k) sum += (m % 7 + k % 3) * (k % 2 - n % 5);
                return sum;
              });
}

template <int... EIGHTS>
void check_all(std::integer_sequence<int, EIGHTS...>) {
  (check_places<8 * (EIGHTS + 1)>(), ...);
}

using Transposed = GpuTest<90, true>;
TEST_F(Transposed, EveryNumberOfRows) {
  check_all(std::make_integer_sequence<int, MAX_ROWS / 8>());
}

}  // namespace
}  // namespace ladder
