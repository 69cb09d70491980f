#include "harness/schedule.h"

#include <gtest/gtest.h>

namespace ladder::harness {
namespace {

TEST(Schedule, HalfASecondOfRoundsWithinLimits) {
  EXPECT_EQ(500, choose_iterations(1));
  EXPECT_EQ(50, choose_iterations(10));
  EXPECT_EQ(20, choose_iterations(25));
  EXPECT_EQ(20, choose_iterations(30));   // 16 would be half a second
  EXPECT_EQ(20, choose_iterations(250));  // five seconds
  EXPECT_EQ(10, choose_iterations(500));
  EXPECT_EQ(1, choose_iterations(4000));
  EXPECT_EQ(1, choose_iterations(60000));
  EXPECT_EQ(5000, choose_iterations(0.1));
  EXPECT_EQ(5000, choose_iterations(0.001));
  EXPECT_EQ(5000, choose_iterations(0));
}

TEST(Schedule, OrderAlternates) {
  using Order = std::vector<size_t>;
  EXPECT_EQ((Order{0, 1}), order_of_round(0, 2));
  EXPECT_EQ((Order{1, 0}), order_of_round(1, 2));
  EXPECT_EQ((Order{0, 1}), order_of_round(2, 2));
  EXPECT_EQ((Order{0, 1, 2}), order_of_round(10, 3));
  EXPECT_EQ((Order{2, 1, 0}), order_of_round(11, 3));
}

TEST(Schedule, ARoundThatExceedsABurstHasNone) {
  EXPECT_EQ(10u, rounds_per_burst(1));
  EXPECT_EQ(3u, rounds_per_burst(3));
  EXPECT_EQ(1u, rounds_per_burst(9.9));
  EXPECT_EQ(0u, rounds_per_burst(10.1));
  EXPECT_GT(rounds_per_burst(0), 1000u);
}

TEST(Schedule, TurnsOf20MsAndFewerLaunchesOfWhatShowsTheHost) {
  EXPECT_EQ(20, launches_per_turn(1, TURN_MS));
  EXPECT_EQ(1000, launches_per_turn(0.02, TURN_MS));
  EXPECT_EQ(100, launches_per_turn(0.0199, TURN_MS));
  EXPECT_EQ(100, launches_per_turn(0, TURN_MS));
  EXPECT_EQ(1, launches_per_turn(100, TURN_MS));
  EXPECT_EQ(5, launches_per_turn(2, BURST_MS));
}

}  // namespace
}  // namespace ladder::harness
