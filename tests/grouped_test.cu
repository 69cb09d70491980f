// 21's groups beside what its stage's tests see: many small ones, what a group may not take from
// the next, and what the choice of a tile knows. On the GPU or on the CPU device.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "21_grouped.cuh"
#include "gpu_test.h"
#include "harness/buffers.h"
#include "one_by_one.cuh"

namespace ladder::grouped {
namespace {

using harness::Data;
using harness::Problem;
using harness::Shape;
using Sets = harness::BufferSets<half, half>;

class GroupedTest : public GpuTest<90, true> {};

Problem<half, half> problem_of(const std::vector<int>& groups, int N, int K) {
  const int M = std::accumulate(groups.begin(), groups.end(), 0);
  return {Shape{M, N, K}, Data::EXACT, 5, {}, harness::Sums::FP32, {}, {}, groups};
}

TEST_F(GroupedTest, FortyGroupsOfFewRows) {
  std::vector<int> groups;
  for (int g = 0; g < 40; ++g) groups.push_back(g * 7 % 5);  // some of none
  const Problem<half, half> problem = problem_of(groups, 72, 40);
  Sets sets(problem, 1);
  for (const harness::GemmFunction<half, half>& run :
       {harness::GemmFunction<half, half>(gemm), harness::GemmFunction<half, half>(gemm_of_mean)})
    EXPECT_EQ("",
              verify(sets.run_poisoned(run, nullptr), reference_output(problem), problem.bound())
                  .message);
}

// K = 40 is less than a box of B has rows: the others are zeros, and not the next group's.
TEST_F(GroupedTest, InfinitiesStayInTheirGroup) {
  Problem<half, half> problem = problem_of({30, 20}, 64, 40);
  const Sets finite_sets(problem, 1);
  const auto reference = reference_output(problem);
  const auto of_second = problem.b.begin() + 40 * problem.ldb;
  std::fill(of_second, problem.b.end(), __float2half(std::numeric_limits<float>::infinity()));
  Sets sets(problem, 1);
  const auto output = sets.run_poisoned(gemm, nullptr);
  int wrong = 0;
  for (int i = 0; i < 30; ++i)
    for (int j = 0; j < 64; ++j)
      wrong += !(__half2float(output.row(i)[j]) == __half2float(reference.row(i)[j]));
  EXPECT_EQ(0, wrong);
}

// Nobody can check what the device alone knows: there is C, and nothing is stored behind it. 203
// columns end in the midst of 16 bytes, which lanes store and not TMA.
TEST_F(GroupedTest, AnEndBehindTheLastRowIsTheLastRow) {
  for (const int N : {64, 203}) {
    const Problem<half, half> problem = problem_of({30, 20}, N, 40);
    Sets sets(problem, 1);
    const harness::DeviceBuffer<int> ends(2);
    const int too_many[] = {30, 500};
    LADDER_CUDA_CHECK(cudaMemcpy(ends.get(), too_many, sizeof too_many, cudaMemcpyHostToDevice));
    const auto run = [&](Gemm<half, half> p) {
      p.groups.ends = ends.get();
      gemm_of_mean(p);
    };
    EXPECT_EQ("", verify(sets.run_poisoned(harness::GemmFunction<half, half>(run), nullptr),
                         reference_output(problem), problem.bound())
                      .message)
        << N;
  }
}

// The group behind one that ends before row 0 begins where C does.
TEST_F(GroupedTest, AnEndBeforeTheFirstRowIsTheFirstRow) {
  const Problem<half, half> problem = problem_of({0, 50}, 72, 40);
  Sets sets(problem, 1);
  harness::DeviceBuffer<int> ends(2);
  ends.upload(std::vector<int>{-5, 50});
  const auto run = [&](Gemm<half, half> p) {
    p.groups.ends = ends.get();
    gemm_of_mean(p);
  };
  EXPECT_EQ("", verify(sets.run_poisoned(harness::GemmFunction<half, half>(run), nullptr),
                       reference_output(problem), problem.bound())
                    .message);
}

TEST_F(GroupedTest, OneByOneNeedsTheEndsOnTheHost) {
  Gemm<half, half> p = Sets(problem_of({30, 20}, 64, 40), 1).gemm(0, nullptr);
  p.groups.ends_on_host = nullptr;
  EXPECT_THROW(gemm_one_by_one(p), std::invalid_argument);
}

TEST_F(GroupedTest, AGroupByItselfIsThatGroup) {
  const Problem<half, half> problem = problem_of({3, 0, 5}, 16, 24);
  const Sets sets(problem, 1);
  const Gemm<half, half> p = sets.gemm(0, nullptr);
  const Gemm<half, half> last = product_of_group(p, 2);
  EXPECT_EQ(0, product_of_group(p, 1).M);
  EXPECT_EQ(5, last.M);
  EXPECT_EQ(p.A + 3 * p.lda, last.A);
  EXPECT_EQ(p.B + 2 * 24 * p.ldb, last.B);
  EXPECT_EQ(p.C + 3 * p.ldc, last.C);
  EXPECT_EQ(0, last.groups.count);
}

TEST_F(GroupedTest, TilesAreThoseOfEachGroup) {
  const Configuration c = configuration<128, 256>();
  const Problem<half, half> problem = problem_of({1, 300, 0, 128}, 300, 8);
  Gemm<half, half> p = Sets(problem, 1).gemm(0, nullptr);
  EXPECT_EQ((1 + 3 + 1) * 2, tiles(p, c));
  p.groups.ends_on_host = nullptr;  // four groups of 107.25
  EXPECT_EQ(4 * 2, tiles(p, c));
  p.groups = {};  // 429 rows
  EXPECT_EQ(4 * 2, tiles(p, c));
}

}  // namespace
}  // namespace ladder::grouped
