#include "harness/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace ladder::harness {
namespace {

constexpr uint64_t COUNT = 1 << 16;

TEST(Random, IsAFunctionOfSeedStreamAndIndex) {
  EXPECT_EQ(random_bits(3, Stream::A, 5), random_bits(3, Stream::A, 5));
  EXPECT_NE(random_bits(3, Stream::A, 5), random_bits(4, Stream::A, 5));
  EXPECT_NE(random_bits(3, Stream::A, 5), random_bits(3, Stream::B, 5));
  EXPECT_NE(random_bits(3, Stream::A, 5), random_bits(3, Stream::A, 6));
}

TEST(Random, StreamsAndSeedsShareNoPart) {
  int same = 0;
  for (uint64_t i = 0; i < COUNT; ++i) {
    same += random_bits(1, Stream::A, i) == random_bits(1, Stream::B, i);
    same += random_bits(1, Stream::A, i) == random_bits(2, Stream::A, i);
    same += random_bits(1, Stream::A, i + 1) == random_bits(1, Stream::B, i);
  }
  EXPECT_EQ(0, same);
}

// Chi-squared over 64 equal bins: 63 degrees of freedom, 4.5 standard deviations.
TEST(Random, UniformOverItsRange) {
  for (const Stream stream : {Stream::A, Stream::B}) {
    std::vector<int> bins(64);
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < COUNT; ++i) {
      const float x = random_uniform(11, stream, i);
      ASSERT_GE(x, -1.0f);
      ASSERT_LT(x, 1.0f);
      ++bins[static_cast<size_t>((x + 1.0f) * 32.0f)];
      sum += x;
      squares += x * x;
    }
    double chi2 = 0;
    const double expected = COUNT / 64.0;
    for (const int n : bins) chi2 += (n - expected) * (n - expected) / expected;
    EXPECT_LT(chi2, 63 + 4.5 * std::sqrt(2 * 63.0));
    EXPECT_NEAR(0, sum / COUNT, 0.01);
    EXPECT_NEAR(1.0 / 3.0, squares / COUNT, 0.01);
  }
}

// Data with few significant bits draws less power: in steps of 2^-23, every step's parity occurs.
TEST(Random, FullEntropy) {
  int odd = 0;
  for (uint64_t i = 0; i < COUNT; ++i)
    odd += static_cast<int>((random_uniform(11, Stream::A, i) + 1.0f) * 0x1p23f) % 2;
  EXPECT_NEAR(0.5, static_cast<double>(odd) / COUNT, 0.01);
}

TEST(Random, IntegersTakeEveryValueEquallyOften) {
  std::vector<int> counts(2 * EXACT_MAGNITUDE + 1);
  for (uint64_t i = 0; i < COUNT; ++i) {
    const float x = random_integer(11, Stream::B, i);
    ASSERT_EQ(x, std::round(x));
    ASSERT_LE(std::abs(x), EXACT_MAGNITUDE);
    ++counts[static_cast<size_t>(x + EXACT_MAGNITUDE)];
  }
  for (const int n : counts) EXPECT_NEAR(COUNT / 9.0, n, 0.06 * COUNT / 9.0);
}

TEST(Random, DataIsWhatItsNameSays) {
  for (const uint64_t i : {0, 1, 77}) {
    for (const Stream stream : {Stream::A, Stream::B}) {
      EXPECT_EQ(0, draw(Data::ZEROS, 11, stream, i));
      EXPECT_EQ(CONSTANT, draw(Data::CONSTANT, 11, stream, i));
      EXPECT_EQ(random_integer(11, stream, i), draw(Data::EXACT, 11, stream, i));
      EXPECT_EQ(random_uniform(11, stream, i), draw(Data::UNIFORM, 11, stream, i));
    }
  }
  EXPECT_STREQ("random", name(Data::UNIFORM));
  EXPECT_STREQ("constant", name(Data::CONSTANT));
}

// Of the longest sums that are taken for exact: fp32 holds each of their numbers, a half the last.
TEST(Random, SumsOfTheConstantAreExact) {
  constexpr double UNIT = 0x1p-8;  // of CONSTANT^2 = 9 / 256
  EXPECT_EQ(9, CONSTANT * CONSTANT / UNIT);
  EXPECT_LE(EXACT_MAX_K * 9.0, 0x1p24);
  EXPECT_LE(EXACT_MAX_K * CONSTANT * CONSTANT, 65504);
}

}  // namespace
}  // namespace ladder::harness
