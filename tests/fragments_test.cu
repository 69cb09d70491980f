// The figure in the header of 07_mma_sync, drawn again from what the lanes hold after a numbered
// matrix was loaded, on the GPU or on the CPU device.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "ptx/mma.cuh"

namespace ladder {
namespace {

constexpr int SIZE = 16, LANES = 32;

// What each lane holds, in four registers of two neighbours.
using Held = float[LANES][4][2];
struct Loaded {
  Held a, b, c;  // b and c: two registers for columns 0 to 7, two for 8 to 15
};

// One warp: C = A * B, all 16x16. Addresses as in the stage.
__global__ void fragments_kernel(const half* A, const half* B, Loaded* out) {
  __shared__ __align__(16) half sA[SIZE][SIZE], sB[SIZE][SIZE];
  const int lane = threadIdx.x;
  for (int i = lane; i < SIZE * SIZE; i += LANES) {
    sA[i / SIZE][i % SIZE] = A[i];
    sB[i / SIZE][i % SIZE] = B[i];
  }
  __syncwarp();
  uint32_t a[4], b[4];
  float c[2][4] = {};
  ptx::ldmatrix_x4(a, &sA[lane % 16][lane / 16 * 8]);
  ptx::ldmatrix_x4_trans(b, &sB[lane % 16][lane / 16 * 8]);
  for (int j = 0; j < 2; ++j) ptx::mma_m16n8k16_f32_f16(c[j], a, b[j * 2], b[j * 2 + 1]);
  for (int i = 0; i < 8; ++i) {
    out->a[lane][i / 2][i % 2] = __half2float(reinterpret_cast<const half*>(a)[i]);
    out->b[lane][i / 2][i % 2] = __half2float(reinterpret_cast<const half*>(b)[i]);
    out->c[lane][i / 2][i % 2] = c[i / 4][i % 4];
  }
}

template <class Element>
std::vector<half> matrix(Element element) {
  std::vector<half> m;
  for (int i = 0; i < SIZE * SIZE; ++i)
    m.push_back(__float2half(static_cast<float>(element(i / SIZE, i % SIZE))));
  return m;
}
int number(int row, int col) {
  return row * SIZE + col;
}

Loaded load(const std::vector<half>& A, const std::vector<half>& B) {
  harness::DeviceBuffer<half> a(A.size()), b(B.size());
  harness::DeviceBuffer<Loaded> device(1);
  a.upload(A);
  b.upload(B);
  launch(fragments_kernel, dim3(1), dim3(LANES), 0, nullptr, a.get(), b.get(), device.get());
  std::vector<Loaded> fragments(1);
  device.download(fragments);
  return fragments[0];
}

// "lane.register" of two numbers, in the figure's width.
std::string place_of(const Held& held, int low, int high) {
  std::string place;
  for (int lane = 0; lane < LANES; ++lane)
    for (int r = 0; r < 4; ++r)
      if (held[lane][r][0] == low && held[lane][r][1] == high)
        place += " " + std::to_string(lane) + "." + std::to_string(r);
  return std::string(5 - std::min<size_t>(place.size(), 5), ' ') + place;
}

// `row_of_left`, `row_of_right`: the places of the eight pairs in a row of either half.
template <class Left, class Right>
std::string figure(Left row_of_left, Right row_of_right) {
  std::string text;
  for (int row = 0; row < SIZE; ++row) {
    text += (row < 10 ? "//  " : "// ") + std::to_string(row) + " |";
    for (int pair = 0; pair < SIZE; pair += 2) text += row_of_left(row, pair);
    text += " |";
    for (int pair = 0; pair < SIZE; pair += 2) text += row_of_right(row, pair);
    text += "\n";
  }
  return text;
}

using Fragments = GpuTest<80, false>;
TEST_F(Fragments, LieAsTheHeaderOfTheStageShows) {
  const auto numbers = matrix(number);
  const Loaded numbered = load(numbers, numbers);
  const Loaded unit = load(numbers, matrix([](int row, int col) { return row == col; }));
  const auto in_a = [&](int m, int k) {
    return place_of(numbered.a, number(m, k), number(m, k + 1));
  };
  const auto in_b = [&](int n, int k) {
    return place_of(numbered.b, number(k, n), number(k + 1, n));
  };
  const auto in_c = [&](int m, int n) {  // a product by the unit matrix
    return place_of(unit.c, number(m, n), number(m, n + 1));
  };
  std::ifstream file(LADDER_KERNELS "/07_mma_sync.cuh");
  std::stringstream header;
  header << file.rdbuf();
  for (const std::string& expected : {figure(in_a, in_b), figure(in_c, in_b)})
    EXPECT_NE(std::string::npos, header.str().find(expected)) << "the figure should be\n"
                                                              << expected;

  // And these are the places that mma.sync multiplies.
  for (int m = 0; m < SIZE; ++m)
    for (int n = 0; n < SIZE; ++n) {
      int sum = 0;
      for (int k = 0; k < SIZE; ++k) sum += number(m, k) * number(k, n);
      const int lane = m % 8 * 4 + n % 8 / 2, r = m / 8 + n / 8 * 2;
      EXPECT_EQ(sum, numbered.c[lane][r][n % 2]) << m << " " << n;
    }
}

}  // namespace

}  // namespace ladder
