// The library's pass that copies matrices to other rows: on the GPU or on the CPU device.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "library/copies.cuh"

namespace ladder {
namespace {

using harness::DeviceBuffer;
using library::AllRowsToCopy;

class CopyRows : public GpuTest<80, false> {};

// A matrix that begins `first` elements into its buffer, and how its copy lies.
struct Case {
  int rows, columns, first, ld_from, to_first, ld_to;
};

size_t size_of_copy(const Case& c) {
  return static_cast<size_t>(c.to_first + c.rows * c.ld_to);
}

// Each element has to come to its place, and what is between and behind rows has to stay.
template <class T>
void check(const std::vector<Case>& cases) {
  AllRowsToCopy<T> copies{};
  std::vector<DeviceBuffer<T>> from, to;
  const auto numbered = [](size_t i, size_t of) { return static_cast<T>(i * 7 + of * 1000 + 1); };
  for (const Case& c : cases) {
    const size_t of = from.size(), size = static_cast<size_t>(c.first + c.rows * c.ld_from);
    std::vector<T> numbers;
    for (size_t i = 0; i < size; ++i) numbers.push_back(numbered(i, of));
    from.emplace_back(size).upload(numbers);
    to.emplace_back(size_of_copy(c)).upload(std::vector<T>(size_of_copy(c)));
    copies.all[copies.count++] = {
        c.rows, c.columns, from.back().get() + c.first, c.ld_from, to.back().get() + c.to_first,
        c.ld_to};
  }
  library::copy_rows(copies, nullptr);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  for (size_t of = 0; of < cases.size(); ++of) {
    const Case& c = cases[of];
    std::vector<T> expected(size_of_copy(c)), found(size_of_copy(c));
    for (int row = 0; row < c.rows; ++row)
      for (int column = 0; column < c.columns; ++column)
        expected[static_cast<size_t>(c.to_first + row * c.ld_to + column)] =
            numbered(static_cast<size_t>(c.first + row * c.ld_from + column), of);
    to[of].download(found);
    EXPECT_EQ(expected, found) << "matrix " << of;
  }
}

const std::vector<Case> SEVERAL = {{3, 257, 1, 259, 0, 264},
                                   {1, 1, 0, 1, 0, 8},
                                   {70, 45, 3, 45, 8, 48},
                                   {2, 1000, 0, 1001, 0, 1000},
                                   {5, 256, 5, 256, 3, 301}};

TEST_F(CopyRows, SeveralInOneLaunch) {
  check<uint16_t>(SEVERAL);
  check<uint32_t>(SEVERAL);
}
TEST_F(CopyRows, One) {
  for (const Case& c : SEVERAL) check<uint16_t>({c});
}
TEST_F(CopyRows, NoneIsNothing) {
  check<uint16_t>({});
  check<uint16_t>({{0, 5, 0, 5, 0, 8}});
}

}  // namespace
}  // namespace ladder
