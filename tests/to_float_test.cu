// Products in fp32 of numbers of 16 bits, by each tile, of integers whose sums are exact there and
// in no type of 16 bits. On the GPU or on the CPU device.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "to_float.cuh"

namespace ladder::to_float {
namespace {

using harness::DeviceBuffer;

class ToFloat : public GpuTest<90, true> {};

// Rows of integers that begin on 16 bytes; what lies between them is NaN.
template <class In>
std::vector<In> integers(int rows, int width, int64_t ld, std::mt19937& random) {
  std::uniform_int_distribution<int> integer(-100, 100);
  std::vector<In> made(static_cast<size_t>(rows * ld));
  for (size_t i = 0; i < made.size(); ++i)
    made[i] = In(static_cast<int64_t>(i) % ld < width ? static_cast<float>(integer(random)) : NAN);
  return made;
}

template <class In>
void expect_right(const fp8::Configuration<In, float>& c, int M, int N, int K) {
  constexpr float UNTOUCHED = -1.5f;  // no sum of integers
  const int64_t ld = (K + 7) / 8 * 8 + 8, ldc = (N + 3) / 4 * 4 + 4;
  std::mt19937 random(7);
  const auto a = integers<In>(M, K, ld, random), b = integers<In>(N, K, ld, random);
  DeviceBuffer<In> on_a(a.size()), on_b(b.size());
  std::vector<float> got(static_cast<size_t>(M * ldc), UNTOUCHED);
  DeviceBuffer<float> on_c(got.size());
  on_a.upload(a), on_b.upload(b), on_c.upload(got);
  Gemm<In, float> p{M, N, K, on_a.get(), ld, on_b.get(), ld, on_c.get(), ldc};
  p.transposed_b = true;
  gemm_as(c, p);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  on_c.download(got);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < ldc; ++j) {
      float expected = j < N ? 0 : UNTOUCHED;
      for (int k = 0; k < K && j < N; ++k)
        expected += static_cast<float>(a[static_cast<size_t>(i * ld + k)]) *
                    static_cast<float>(b[static_cast<size_t>(j * ld + k)]);
      ASSERT_EQ(expected, got[static_cast<size_t>(i * ldc + j)])
          << c.BM << "x" << c.BN << " at " << M << " x " << N << " x " << K << ": " << i << ", "
          << j;
    }
}
template <class In>
void expect_right() {
  for (const auto& c : CONFIGURATIONS<In>) {
    expect_right(c, 131, 270, 203);
    expect_right(c, 1, 1, 1);
    expect_right(c, 260, 32, 64);
    expect_right(c, 3, 5, 0);
  }
}
TEST_F(ToFloat, Fp16) {
  expect_right<half>();
}
TEST_F(ToFloat, Bf16) {
  expect_right<bf16>();
}

TEST_F(ToFloat, RefusesOtherLayouts) {
  for (const bool transposed : {false, true}) {
    Gemm<half, float> p{};
    p.transposed_a = p.transposed_b = transposed;
    EXPECT_THROW(gemm(p), std::invalid_argument);
  }
}

}  // namespace
}  // namespace ladder::to_float
