// The feed-forward block of one kernel, exact: at multiples of 8 from 8 on GELU is its argument,
// and 0 at those below, in fp32 with tanh.approx as well. On the GPU or on the CPU device.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "peers/one_kernel.h"
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/block.h"
  #include "cpu_device/findings.h"
#endif

namespace ladder::peers {
namespace {

using harness::DeviceBuffer;

// A row-major matrix of small integers, or NaN beyond its width.
struct Matrix {
  int rows, cols;
  int64_t ld;
  std::vector<half> values;

  Matrix(int rows, int cols, int padding, int largest, std::mt19937& random)
      : rows(rows), cols(cols), ld(harness::leading_dimension<half>(cols) + padding) {
    std::uniform_int_distribution<int> integer(-largest, largest);
    for (int64_t i = 0; i < rows * ld; ++i)
      values.push_back(__float2half(i % ld < cols ? static_cast<float>(integer(random)) : NAN));
  }
  float at(int row, int col) const {
    return __half2float(values[static_cast<size_t>(row * ld + col)]);
  }
};

class FeedForward : public GpuTest<90, true> {
 protected:
#ifdef LADDER_CPU_DEVICE
  void SetUp() override {
    cpu_device::settings() = {};
    cpu_device::settings().count = false;
    cpu_device::take_findings();
  }
  void TearDown() override {
    cpu_device::settings() = {};
    for (const cpu_device::Finding& finding : cpu_device::take_findings())
      ADD_FAILURE() << finding.text();
  }
#endif

  // The first wrong element, or "".
  std::string wrong(int rows, int width, int hidden, int padding = 0) {
    const Matrix x(rows, width, padding, 2, random_), w1(width, hidden, 2 * padding, 2, random_),
        b1(1, hidden, 0, 3, random_), w2(hidden, width, padding, 2, random_),
        b2(1, width, 0, 3, random_);
    constexpr float EIGHTH = 0.125f;  // of the sums, so that those of hidden multiples stay small
    const auto upload = [](const Matrix& matrix, float factor) {
      std::vector<half> scaled;
      for (const half value : matrix.values)
        scaled.push_back(__float2half(__half2float(value) * factor));
      DeviceBuffer<half> buffer(scaled.size());
      buffer.upload(scaled);
      return buffer;
    };
    const auto dx = upload(x, 1), dw1 = upload(w1, 1), db1 = upload(b1, 8), dw2 = upload(w2, 1),
               db2 = upload(b2, 1);
    harness::Output<half> y{rows, width, harness::leading_dimension<half>(width) + 3 * padding};
    y.poison();
    DeviceBuffer<half> dy(y.size());
    dy.upload(y.memory);

    Gemm<half, half> first{rows,     hidden,  width,
                           dx.get(), x.ld,    dw1.get(),
                           w1.ld,    nullptr, harness::leading_dimension<half>(hidden)};
    first.epilogue.alpha = 8;
    first.epilogue.bias = db1.get();
    first.epilogue.activation = Activation::GELU;
    Gemm<half, half> second{
        rows, width, hidden, nullptr, first.ldc, dw2.get(), w2.ld, dy.get() + harness::GUARD, y.ld};
    second.epilogue.alpha = EIGHTH;
    second.epilogue.bias = db2.get();
    feed_forward_in_one_kernel(first, second);
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    dy.download(y.memory);

    harness::Output<half> expected = y;
    expected.poison();
    std::vector<float> sums(static_cast<size_t>(width));
    for (int m = 0; m < rows; ++m) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (int h = 0; h < hidden; ++h) {
        float sum = b1.at(0, h);
        for (int k = 0; k < width; ++k) sum += x.at(m, k) * w1.at(k, h);
        if (sum > 0)
          for (int n = 0; n < width; ++n) sums[static_cast<size_t>(n)] += sum * w2.at(h, n);
      }
      for (int n = 0; n < width; ++n)
        expected.row(m)[n] = __float2half(sums[static_cast<size_t>(n)] + b2.at(0, n));
    }
    return verify(y, expected, [](int, int, double) { return 0.0; }).message;
  }

  std::mt19937 random_{22};
};

TEST_F(FeedForward, EveryWidthThatABlockHasRoomFor) {
  for (const int width : {64, 128, 192, 256}) EXPECT_EQ("", wrong(128, width, 128)) << width;
}
TEST_F(FeedForward, WhatDoesNotFillItsTiles) {
  EXPECT_EQ("", wrong(1, 1, 1));
  EXPECT_EQ("", wrong(129, 65, 63, 8));
  EXPECT_EQ("", wrong(300, 200, 321, 16));
}
// More pieces than there are buffers.
TEST_F(FeedForward, ManyPieces) {
  EXPECT_EQ("", wrong(70, 40, 1000));
  EXPECT_EQ("", wrong(70, 256, 700));
}
// By blocks of 256 columns, of which the last may have nothing to do.
TEST_F(FeedForward, AWiderOne) {
  EXPECT_EQ("", wrong(130, 512, 130));
  EXPECT_EQ("", wrong(40, 600, 200, 8));
}
// More tiles than there are blocks: three and two for each of two, or as many on a GPU.
TEST_F(FeedForward, BlocksGoFromTileToTile) {
#ifdef LADDER_CPU_DEVICE
  cpu_device::settings().multiprocessors = 2;
#endif
  const int blocks = device_attribute(cudaDevAttrMultiProcessorCount);
  EXPECT_EQ("", wrong(5 * blocks / 2 * 128 - 60, 64, 192));
  EXPECT_EQ("", wrong(blocks * 64 + 128 + 3, 600, 72));  // four columns of tiles
}
TEST_F(FeedForward, RefusesWhatIsNoSuchBlock) {
  alignas(16) half bias[8]{};
  Gemm<half, half> first{8, 16, 24, nullptr, 24, nullptr, 16, nullptr, 16};
  Gemm<half, half> second{8, 24, 16, nullptr, 16, nullptr, 24, nullptr, 24};
  first.epilogue.bias = second.epilogue.bias = bias;
  first.epilogue.activation = Activation::GELU;
  const auto refusal = [](const Gemm<half, half>& first, const Gemm<half, half>& second) {
    try {
      feed_forward_in_one_kernel(first, second);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  const auto expect = [&](const char* words, auto change) {
    auto [a, b] = std::pair(first, second);
    change(a, b);
    EXPECT_NE(std::string::npos, refusal(a, b).find(words)) << refusal(a, b);
  };
  expect("the rows are 8 in the first product and 7", [](auto&, auto& b) { b.M = 7; });
  expect("the columns of the hidden layer are 16", [](auto&, auto& b) { b.K = 8; });
  expect("the columns of X and of the result are 20", [](auto& a, auto&) { a.K = 20; });
  expect("no columns", [](auto& a, auto& b) { a.N = b.K = 0; });
  expect("ldb is 28", [](auto&, auto& b) { b.ldb = 28; });
  expect("nothing else", [](auto& a, auto&) { a.epilogue.bias = nullptr; });
  expect("nothing else", [](auto& a, auto&) { a.epilogue.activation = Activation::SILU; });
  expect("nothing else", [](auto&, auto& b) { b.epilogue.activation = Activation::GELU; });
  expect("nothing else",
         [&](auto&, auto& b) { b.epilogue.residual = bias, b.epilogue.ld_residual = 24; });
}
TEST_F(FeedForward, NoRowsAreNothingToDo) {
  EXPECT_EQ("", wrong(0, 64, 64));
}

}  // namespace
}  // namespace ladder::peers
