// The timer without a GPU: beside it a runtime whose stream has a clock of its own, which launches
// and rests move on and events read. What takes how long is known to the nanosecond.
#include <cuda_runtime.h>  // the CPU device's, which has no events

#include <cstddef>
#include <vector>

namespace {
double stream_ms = 0;
int rests = 0;
}  // namespace
struct FakeEvent {
  double ms = 0;
};

using cudaEvent_t = FakeEvent*;
using cudaHostFn_t = void (*)(void*);

static cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new FakeEvent;
  return cudaSuccess;
}
static cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
static cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->ms = stream_ms;
  return cudaSuccess;
}
static cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  *ms = static_cast<float>(end->ms - start->ms);
  return cudaSuccess;
}
// The only host function is a rest.
static cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void*) {
  stream_ms += 10;
  ++rests;
  return cudaSuccess;
}

#include <gtest/gtest.h>

#include "harness/timer.cpp"

namespace ladder::harness {
namespace {

// Launches that take a known time, and the order they come in.
class Timer : public testing::Test {
 protected:
  void SetUp() override {
    stream_ms = 0;
    rests = 0;
  }
  LaunchOn taking(double ms, size_t number = 0) {
    return [=](int set) {
      stream_ms += ms;
      launched.push_back(number);
      sets.push_back(set);
    };
  }
  std::vector<size_t> last(size_t count) const {
    return {launched.end() - static_cast<std::ptrdiff_t>(count), launched.end()};
  }

  std::vector<size_t> launched;
  std::vector<int> sets;
};

TEST_F(Timer, EachContenderHasItsOwnTime) {
  const std::vector<LaunchOn> contenders{taking(2), taking(1), taking(0.25)};
  const std::vector<Timing> usual = time_interleaved(contenders, {1, 1, 7}, nullptr);
  const std::vector<double> steady = time_sustained(contenders, 1, usual, nullptr);
  const std::vector<double> expected{2, 1, 0.25};
  ASSERT_EQ(3u, usual.size());
  ASSERT_EQ(3u, steady.size());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(expected[i], usual[i].median, 1e-4);
    EXPECT_NEAR(expected[i], usual[i].p10, 1e-4);
    EXPECT_NEAR(expected[i], usual[i].p90, 1e-4);
    EXPECT_EQ(7, usual[i].samples);
    EXPECT_NEAR(expected[i], steady[i], 1e-4);
  }
  EXPECT_EQ(0, rests);
}

TEST_F(Timer, WithoutACountItIsChosenByTheTimeOfARound) {
  EXPECT_EQ(125, time_interleaved({taking(3), taking(1)}, {1, 1, {}}, nullptr)[0].samples);
  EXPECT_EQ(25, time_interleaved({taking(15), taking(5)}, {1, 1, {}}, nullptr)[1].samples);
}

TEST_F(Timer, OrderAlternatesWithinABurst) {
  time_interleaved({taking(1, 0), taking(1, 1)}, {1, 1, 4}, nullptr);
  // One launch to begin the burst with, by the one that comes last in the round.
  EXPECT_EQ((std::vector<size_t>{1, 0, 1, 1, 0, 0, 1, 1, 0}), last(9));
}

TEST_F(Timer, OrderAlternatesFromBurstToBurst) {
  // Six milliseconds: a burst is one round.
  time_interleaved({taking(3, 0), taking(3, 1)}, {1, 1, 3}, nullptr);
  EXPECT_EQ((std::vector<size_t>{1, 0, 1, 0, 1, 0, 1, 0, 1}), last(9));
}

TEST_F(Timer, ALaunchLongerThanABurstHasItsOwnRest) {
  const std::vector<Timing> times =
      time_interleaved({taking(12, 0), taking(6, 1)}, {1, 1, 4}, nullptr);
  EXPECT_NEAR(12, times[0].median, 1e-4);
  EXPECT_NEAR(6, times[1].median, 1e-4);
  EXPECT_EQ((std::vector<size_t>{0, 1, 1, 0, 0, 1, 1, 0}), last(8));
  EXPECT_EQ(8, rests);
}

TEST_F(Timer, SetsAreGoneRound) {
  time_interleaved({taking(1), taking(1)}, {3, 1, 6}, nullptr);
  for (size_t i = 1; i < sets.size(); ++i) ASSERT_EQ((sets[i - 1] + 1) % 3, sets[i]);
}

TEST_F(Timer, WarmUpIsAtLeastWhatIsAskedFor) {
  // More than a tenth of a second has room for.
  time_interleaved({taking(1), taking(1)}, {1, 1000000, 1}, nullptr);
  EXPECT_GE(launched.size(), 2000000u);
}

// In turns of 20 ms, forwards and backwards: 3 rounds of warm-up and 10 that count.
TEST_F(Timer, TheSteadyStateIsInTurns) {
  time_sustained({taking(2, 0), taking(5, 1)}, 1, {Timing{2, 2, 2, 1}, Timing{5, 5, 5, 1}},
                 nullptr);
  ASSERT_EQ(13u * 2 * (10 + 4), launched.size());
  std::vector<size_t> round(28);
  for (size_t i = 0; i < round.size(); ++i) round[i] = i >= 10 && i < 18 ? 1 : 0;
  EXPECT_EQ(round, last(28));
}

// Launches of a contender by itself, and when they are in flight.
class TimeAlone : public Timer {
 protected:
  double run(double ms, const Pace& pace) {
    return time_alone(
        taking(ms), 3, ms, pace,
        [&](bool yes) {
          told.push_back({yes, stream_ms});
        },
        nullptr);
  }
  struct Told {
    bool in_flight;
    double at_ms;
  };
  std::vector<Told> told;
};

TEST_F(TimeAlone, EachBurstThatCountsIsTold) {
  // A burst and its rest: 6 launches of 2 ms, one of them not timed, and 10 ms.
  EXPECT_NEAR(2, run(2, {10, 10, 40, 60}), 1e-4);
  ASSERT_EQ(2u * 3, told.size());  // 2 bursts to settle, 22 ms each, and 3 that count
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(i % 2 == 0, told[i].in_flight);
    EXPECT_EQ(12.0 * static_cast<double>(2 + i / 2) + (i % 2 == 0 ? 2 : 12), told[i].at_ms);
  }
  EXPECT_EQ(5u * 6, launched.size());
}

TEST_F(TimeAlone, WithoutRestsItIsToldOnce) {
  EXPECT_NEAR(2, run(2, {10, 0, 20, 36}), 1e-4);
  ASSERT_EQ(2u, told.size());
  EXPECT_TRUE(told[0].in_flight);
  EXPECT_EQ(2 * 12 + 2, told[0].at_ms);  // launches are there already
  EXPECT_FALSE(told[1].in_flight);
  EXPECT_EQ(5 * 12, told[1].at_ms);
}

TEST_F(TimeAlone, ALaunchThatTakesLongerCountsOnce) {
  EXPECT_NEAR(3000, run(3000, WITHOUT_RESTS), 1e-2);
  EXPECT_EQ(4u, launched.size());
  EXPECT_EQ(2u, told.size());
}

TEST_F(TimeAlone, WhatIsSampledLastsHalfASecond) {
  EXPECT_GE(IN_BURSTS.counted_ms, 500);
  EXPECT_GE(WITHOUT_RESTS.counted_ms, 500);
}

}  // namespace
}  // namespace ladder::harness
