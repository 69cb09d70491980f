// Batches as the library launches them: one behind the other, by 21, and anywhere. Integers, whose
// sums are exact. On the GPU or on the CPU device.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "library/batch.cu"

namespace ladder::library {
namespace {

using harness::DeviceBuffer;

class BatchTest : public GpuTest<90, true> {};

// Of products that lie `a`, `b` and `c` elements apart, in this order of their matrices; what is in
// no matrix is NaN, or in C stays as it was.
struct Where {
  int count;
  int64_t lda, ldb, ldc, a, b, c;
  bool transposed_b;
};

template <class T, class Launch>
void expect_right(int M, int N, int K, const Where& where, const Launch& launch) {
  constexpr float UNTOUCHED = -1.5f;  // no sum of integers
  const int count = where.count;
  const int64_t lda = where.lda, ldb = where.ldb, ldc = where.ldc;
  const int64_t a = where.a, b = where.b, c = where.c;
  const bool transposed_b = where.transposed_b;
  std::mt19937 random(7);
  const auto integers = [&](int64_t apart, int rows, int width, int64_t ld) {
    std::vector<T> made(static_cast<size_t>(count * apart), T(NAN));
    for (int i = 0; i < count; ++i)
      for (int row = 0; row < rows; ++row)
        for (int col = 0; col < width; ++col)
          made[static_cast<size_t>(i * apart + row * ld + col)] =
              T(static_cast<float>(random() % 5) - 2);
    return made;
  };
  const auto of_a = integers(a, M, K, lda),
             of_b = integers(b, transposed_b ? N : K, transposed_b ? K : N, ldb);
  std::vector<T> got(static_cast<size_t>(count * c), T(UNTOUCHED));
  DeviceBuffer<T> on_a(of_a.size()), on_b(of_b.size()), on_c(got.size());
  on_a.upload(of_a), on_b.upload(of_b), on_c.upload(got);
  Gemm<T, T> p{M, N, K, on_a.get(), lda, on_b.get(), ldb, on_c.get(), ldc};
  p.transposed_b = transposed_b;
  launch(p);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  on_c.download(got);
  for (int i = 0; i < count; ++i)
    for (int64_t at = 0; at < c; ++at) {
      const auto m = at / ldc, n = at % ldc;
      float expected = UNTOUCHED;
      if (m < M && n < N) {
        expected = 0;
        for (int k = 0; k < K; ++k)
          expected +=
              static_cast<float>(of_a[static_cast<size_t>(i * a + m * lda + k)]) *
              static_cast<float>(
                  of_b[static_cast<size_t>(i * b + (transposed_b ? n * ldb + k : k * ldb + n))]);
      }
      ASSERT_EQ(expected, static_cast<float>(got[static_cast<size_t>(i * c + at)]))
          << M << "x" << N << "x" << K << ", product " << i << ", row " << m << ", column " << n;
    }
}

// Without ends, for 21.
TEST_F(BatchTest, BehindEachOther) {
  for (const auto& [count, M] : {std::pair{2, 70}, {150, 3}}) {
    const Where where{count, 40, 72, 72, M * 40, 40 * 72, M * 72, false};
    expect_right<half>(M, 72, 40, where, [&](const auto& p) { launch_groups(p, where.count); });
  }
}

// Gaps, and an order that is not that of the addresses.
template <class T>
void anywhere(int M, int N, int K, int count) {
  const auto up = [](int64_t x) { return (x + 7) / 8 * 8; };
  for (const bool transposed_b : {false, true}) {
    const int64_t lda = up(K) + 8, ldb = up(transposed_b ? K : N), ldc = up(N) + 16;
    const Where where{count,   lda,          ldb,
                      ldc,     M * lda + 24, (transposed_b ? N : K) * ldb + 8,
                      M * ldc, transposed_b};
    expect_right<T>(M, N, K, where, [&](const Gemm<T, T>& p) {
      std::vector<Matrices<T, T>> all;
      for (int i = count - 1; i >= 0; --i)
        all.push_back({p.A + i * where.a, p.B + i * where.b, p.C + i * where.c});
      launch_batch(p, all.data(), count);
    });
  }
}
TEST_F(BatchTest, Anywhere) {
  anywhere<half>(67, 131, 45, 3);
  anywhere<bf16>(67, 131, 45, 3);
  anywhere<half>(1, 1, 1, 2);
  anywhere<half>(130, 264, 72, 2);  // tiles of 128 rows, or more than one
  anywhere<bf16>(65, 72, 520, 2);   // buffers are filled again
  anywhere<half>(3, 8, 24, 67);     // more than a launch has
}

// Each tile, as large products would have it.
template <class T, ptx::Major MAJOR_B>
void each_tile() {
  for (const auto& c : batch::CONFIGURATIONS<T, MAJOR_B>) {
    const int M = 140, N = 272, K = 72, count = 2;
    const Where where{count, K,     MAJOR_B == ptx::Major::K ? K : N, N, M * K,
                      K * N, M * N, MAJOR_B == ptx::Major::K};
    expect_right<T>(M, N, K, where, [&](const Gemm<T, T>& p) {
      std::vector<Matrices<T, T>> all;
      for (int i = 0; i < count; ++i)
        all.push_back({p.A + i * where.a, p.B + i * where.b, p.C + i * where.c});
      launch_in_waves(c, batch::Products<T>{p, all.data(), count});
    });
  }
}
TEST_F(BatchTest, EachTile) {
  each_tile<half, ptx::Major::MN>(), each_tile<half, ptx::Major::K>();
  each_tile<bf16, ptx::Major::MN>(), each_tile<bf16, ptx::Major::K>();
}

}  // namespace
}  // namespace ladder::library
