#include "harness/statistics.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ladder::harness {
namespace {

TEST(Statistics, PercentilesOfKnownSamples) {
  const Timing t = summarize({10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5});  // 0 to 10, shuffled
  EXPECT_DOUBLE_EQ(5, t.median);
  EXPECT_DOUBLE_EQ(1, t.p10);
  EXPECT_DOUBLE_EQ(9, t.p90);
  EXPECT_EQ(11, t.samples);
}

TEST(Statistics, InterpolatesBetweenSamples) {
  const Timing t = summarize({2, 1});
  EXPECT_DOUBLE_EQ(1.5, t.median);
  EXPECT_DOUBLE_EQ(1.1, t.p10);
  EXPECT_DOUBLE_EQ(1.9, t.p90);
}

TEST(Statistics, OneSample) {
  const Timing t = summarize({3});
  EXPECT_DOUBLE_EQ(3, t.median);
  EXPECT_DOUBLE_EQ(3, t.p10);
  EXPECT_DOUBLE_EQ(3, t.p90);
}

TEST(Statistics, NoSamplesIsAnError) {
  EXPECT_THROW(summarize({}), std::invalid_argument);
}

}  // namespace
}  // namespace ladder::harness
