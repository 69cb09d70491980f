// 18's layouts beside what its stage's tests see: every number of rows in either form, C by
// columns, and what bf16 holds that a half does not. On the GPU or on the CPU device.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "18_layouts.cuh"
#include "harness/buffers.h"
#include "harness/device.h"

// ladder::jit's function object of what a user has written, which here is this.
namespace ladder::jit {
struct Arguments {
  __device__ float operator()(float x, int m, int n) const {
    return x + static_cast<float>(3 * m - n);
  }
};
}  // namespace ladder::jit
#include "library/jit/finish.cuh"

namespace ladder::layouts {
namespace {

using fit_the_waves::MMA_K;
using fit_the_waves::THREADS;
using fit_the_waves::WARPGROUP;
using harness::DeviceBuffer;
using harness::Layout;
using harness::LAYOUTS;
using harness::name;
using harness::Number;

class LayoutsTest : public testing::Test {
 protected:
  void SetUp() override {
#ifndef LADDER_CPU_DEVICE
    try {
      harness::select_device(0, 90, true);
    } catch (const harness::NoDevice& error) {
      GTEST_SKIP() << error.what();
    }
#endif
  }
};

using Element = std::function<int(int row, int column)>;

// A matrix of small integers, by rows or transposed; its rows are that long and no longer.
template <class T>
std::vector<T> stored(int rows, int columns, bool transposed, const Element& element) {
  std::vector<T> matrix;
  for (int i = 0; i < (transposed ? columns : rows); ++i)
    for (int j = 0; j < (transposed ? rows : columns); ++j)
      matrix.push_back(
          Number<T>::from_float(static_cast<float>(transposed ? element(j, i) : element(i, j))));
  return matrix;
}
template <class T>
DeviceBuffer<T> on_device(const std::vector<T>& from) {
  DeviceBuffer<T> buffer(from.size());
  buffer.upload(from);
  return buffer;
}

// ---- One wgmma after the other, ROWS x 64 of C -------------------------------------------------

template <int ROWS, Major MAJOR_A, Major MAJOR_B>
struct OneTile {
  Operand<half, (ROWS + 63) / 64 * 64, MAJOR_A> A;
  Operand<half, BOX, MAJOR_B> B;
  uint64_t full;
};

template <int ROWS, Major MAJOR_A, Major MAJOR_B>
__global__ void one_tile_kernel(const __grid_constant__ CUtensorMap map_A,
                                const __grid_constant__ CUtensorMap map_B, float* C) {
  using Tile = OneTile<ROWS, MAJOR_A, MAJOR_B>;
  Tile& s = dynamic_shared<Tile>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.A + sizeof s.B);
    s.A.load(map_A, 0, 0, &s.full);
    s.B.load(map_B, 0, 0, &s.full);
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full, 0);
  float acc[ROWS / 2];
  ptx::wgmma_fence();
  for (int k = 0; k < BK; k += MMA_K)
    ptx::wgmma_m64k16_f32<half, MAJOR_B, MAJOR_A>(acc, s.B.descriptor(0, k), s.A.descriptor(0, k),
                                                  k > 0);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < ROWS / 2; ++i)
    C[(i / 4 * 8 + lane % 4 * 2 + i % 2) * BOX + warp * 16 + i / 2 % 2 * 8 + lane / 4] = acc[i];
}

// Rows and columns are numbered, so that each element has to come back from its own place.
template <int ROWS, Major MAJOR_A, Major MAJOR_B>
void check_tile() {
  constexpr bool TRANSPOSED_A = MAJOR_A == Major::MN, TRANSPOSED_B = MAJOR_B == Major::K;
  SCOPED_TRACE(std::to_string(ROWS) + " rows, " + name(Layout{TRANSPOSED_A, TRANSPOSED_B}));
  const Element a = [](int m, int k) { return m % 7 * 8 + k % 3 - 4 * (m % 64 == k); },
                b = [](int k, int n) { return k % 2 - n % 5 + 16 * (k == n); };
  const auto A = on_device(stored<half>(ROWS, BK, TRANSPOSED_A, a)),
             B = on_device(stored<half>(BK, BOX, TRANSPOSED_B, b));
  const DeviceBuffer<float> C(ROWS * BOX);
  using Tile = OneTile<ROWS, MAJOR_A, MAJOR_B>;
  launch(one_tile_kernel<ROWS, MAJOR_A, MAJOR_B>, dim3(1), dim3(WARPGROUP), sizeof(Tile), nullptr,
         decltype(Tile::A)::map(A.get(), ROWS, BK, TRANSPOSED_A ? ROWS : BK),
         decltype(Tile::B)::map(B.get(), BOX, BK, TRANSPOSED_B ? BK : BOX), C.get());
  std::vector<float> found(ROWS * BOX);
  C.download(found);
  for (int m = 0; m < ROWS; ++m)
    for (int n = 0; n < BOX; ++n) {
      int sum = 0;
      for (int k = 0; k < BK; ++k) sum += a(m, k) * b(k, n);
      ASSERT_EQ(static_cast<float>(sum), found[static_cast<size_t>(m * BOX + n)]) << m << " " << n;
    }
}
template <int... EIGHTHS>
void check_tiles(std::integer_sequence<int, EIGHTHS...>) {
  (check_tile<8 * (EIGHTHS + 1), Major::K, Major::K>(), ...);
  (check_tile<8 * (EIGHTHS + 1), Major::MN, Major::K>(), ...);
  (check_tile<8 * (EIGHTHS + 1), Major::K, Major::MN>(), ...);
  (check_tile<8 * (EIGHTHS + 1), Major::MN, Major::MN>(), ...);
}
TEST_F(LayoutsTest, EveryNumberOfRows) {
  check_tiles(std::make_integer_sequence<int, 32>());
}

// ---- Whole products ----------------------------------------------------------------------------

// Nothing of the harness's own idea of a layout is in here.
template <class T>
void check_product(Layout layout, bool c_by_columns) {
  constexpr int M = 200, N = 72, K = 136;
  const Element a = [](int m, int k) { return (m * 3 + k) % 7 - 3; },
                b = [](int k, int n) { return (k + n * 5) % 3 - 1; };
  const auto A = on_device(stored<T>(M, K, layout.transposed_a, a)),
             B = on_device(stored<T>(K, N, layout.transposed_b, b));
  const DeviceBuffer<T> C(M * N);
  Gemm<T, T> p{M,
               N,
               K,
               A.get(),
               layout.transposed_a ? M : K,
               B.get(),
               layout.transposed_b ? K : N,
               C.get(),
               c_by_columns ? M : N};
  p.transposed_a = layout.transposed_a, p.transposed_b = layout.transposed_b;
  c_by_columns ? gemm_to_columns(p) : gemm(p);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<T> found(M * N);
  C.download(found);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      int sum = 0;
      for (int k = 0; k < K; ++k) sum += a(m, k) * b(k, n);
      const T expected = Number<T>::from_float(static_cast<float>(sum));
      ASSERT_EQ(
          Number<T>::to_float(expected),
          Number<T>::to_float(found[static_cast<size_t>(c_by_columns ? n * M + m : m * N + n)]))
          << name(layout) << (c_by_columns ? ", C by columns: " : ": ") << m << " " << n;
    }
}
TEST_F(LayoutsTest, CByRowsAndByColumns) {
  for (const Layout layout : LAYOUTS)
    for (const bool c_by_columns : {false, true}) {
      check_product<half>(layout, c_by_columns);
      check_product<bf16>(layout, c_by_columns);
    }
}

// Two tiles below and beside each other, of which the last are cut: each element is given to the
// user's function once, with its own place.
TEST_F(LayoutsTest, AUsersEpilogueKnowsItsElement) {
  constexpr int M = 80, N = 136, K = 16, BM = 72, BN = 128;
  const Element a = [](int m, int k) { return (m * 3 + k) % 7 - 3; },
                b = [](int k, int n) { return (k + n * 5) % 3 - 1; };
  const auto A = on_device(stored<half>(M, K, true, a)), B = on_device(stored<half>(K, N, true, b));
  const DeviceBuffer<half> C(M * N);
  using Shared = fit_the_waves::Shared<half, BM, BN, Major::MN, Major::K>;
  launch(fit_the_waves::gemm_kernel<half, BM, BN, fit_the_waves::Pairs::NONE, Major::MN, Major::K,
                                    jit::Finish>,
         dim3(2), dim3(THREADS), sizeof(Shared), nullptr, M, N, K, BM, 4,
         Operand<half, BM, Major::MN>::map(A.get(), M, K, M),
         Operand<half, BN, Major::K>::map(B.get(), N, K, K),
         ptx::tensor_map(C.get(), M, N, N, Shared::PIECE),
         ptx::tensor_map(C.get(), M, N, N, last_piece(BM, Shared::PIECE)), C.get(), N,
         jit::Finish{});
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<half> found(M * N);
  C.download(found);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      int sum = 3 * m - n;
      for (int k = 0; k < K; ++k) sum += a(m, k) * b(k, n);
      ASSERT_EQ(static_cast<float>(sum), __half2float(found[static_cast<size_t>(m * N + n)]))
          << m << " " << n;
    }
}

// 2^60 * 2^60 and 2^-60 * 2^-60: both are numbers of bf16, and of their factors none is a half's.
TEST_F(LayoutsTest, Bf16HasTheRangeOfFp32) {
  for (const float factor : {0x1p60f, 0x1p-60f}) {
    const std::vector<bf16> factors(64 * 64, Number<bf16>::from_float(factor));
    const auto A = on_device(factors), B = on_device(factors);
    const DeviceBuffer<bf16> C(64 * 64);
    gemm(Gemm<bf16, bf16>{64, 64, 64, A.get(), 64, B.get(), 64, C.get(), 64});
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<bf16> found(64 * 64);
    C.download(found);
    for (const bf16 x : found) ASSERT_EQ(64 * factor * factor, Number<bf16>::to_float(x));
    EXPECT_EQ(factor > 1 ? INFINITY : 0, Number<half>::to_float(Number<half>::from_float(factor)));
  }
}

}  // namespace
}  // namespace ladder::layouts
