// What bench/timeline makes of recorded events, without a GPU.
#include <gtest/gtest.h>

#include <stdexcept>

#include "timeline/windows.h"

namespace timeline {
namespace {

constexpr uint32_t START = 0xFFFFFF00;  // the clock wraps while events are recorded
constexpr uint32_t TIMER = 0xFFFFFFF0;
constexpr int STEP = 1000, CLOCKS_A_NS = 2;

Event event(Kind kind, uint32_t line, int begin, int end) {
  return {static_cast<uint32_t>(kind) << 16 | line, START + static_cast<uint32_t>(begin),
          START + static_cast<uint32_t>(end), TIMER + static_cast<uint32_t>(end / CLOCKS_A_NS)};
}

// A warp that waits for a tile and for its wgmmas, `steps` times, then for all of them; `tiles`
// times.
RawWarp consumer(int block, int warp, int begin, int steps, int tiles) {
  RawWarp raw{block, warp, {}};
  for (int i = 0; i < steps * tiles; ++i) {
    const int at = begin + i * STEP;
    raw.events.push_back(event(Kind::MBARRIER, 80, at, at + 100));
    raw.events.push_back(event(Kind::WGMMA, 90, at + 200, at + 700));
    if (i % steps == steps - 1)
      raw.events.push_back(event(Kind::WGMMA_ALL, 93, at + 700, at + 900));
  }
  return raw;
}

RawWarp producer(int block, int warp, int steps) {
  RawWarp raw{block, warp, {}};
  for (int i = 0; i < steps; ++i) {
    raw.events.push_back(event(Kind::MBARRIER, 60, i * STEP, i * STEP + 900));
    raw.events.push_back(event(Kind::COPY, 61, i * STEP + 900, i * STEP + 900));
  }
  return raw;
}

// Two barriers a step; nobody copies for the others.
RawWarp plain(int block, int warp, int begin, int steps) {
  RawWarp raw{block, warp, {}};
  for (int i = 0; i < steps; ++i) {
    const int at = begin + i * STEP;
    raw.events.push_back(event(Kind::BARRIER, 77, at, at + 100));
    raw.events.push_back(event(Kind::BARRIER, 88, at + 600, at + 700));
  }
  return raw;
}

TEST(TimelineRecording, CountsClocksFromTheFirstEventThoughTheyWrap) {
  const Recording recording = recording_of({plain(9, 0, 500, 20), plain(8, 0, 0, 20)});
  ASSERT_EQ(2u, recording.warps.size());
  EXPECT_EQ(8, recording.warps[0].block);
  EXPECT_EQ(0, recording.warps[0].spans[0].begin);
  EXPECT_EQ(500, recording.warps[1].spans[0].begin);
  EXPECT_EQ(19 * STEP + 700, recording.warps[0].spans.back().end);
  EXPECT_EQ(Kind::BARRIER, recording.warps[0].spans[1].kind);
  EXPECT_EQ(88, recording.warps[0].spans[1].line);
}

TEST(TimelineRecording, TellsTheLengthOfAClockByTheTimer) {
  EXPECT_NEAR(1.0 / CLOCKS_A_NS, recording_of({plain(0, 0, 0, 50)}).ns_per_clock, 1e-3);
}

TEST(TimelineRecording, LeavesOutWarpsThatOnlyBeginAndEnd) {
  const RawWarp idle{0, 9, {event(Kind::BARRIER, 50, -100, 0)}};
  const Recording recording = recording_of({consumer(0, 0, 0, 64, 1), idle});
  EXPECT_EQ(1u, recording.warps.size());
  EXPECT_THROW(recording_of({idle}), std::runtime_error);
  EXPECT_THROW(recording_of({}), std::runtime_error);
}

TEST(TimelineRecording, NeedsATimerThatGoesOn) {
  RawWarp stopped = plain(0, 0, 0, 20);
  for (Event& event : stopped.events) event.timer = TIMER;
  EXPECT_THROW(recording_of({stopped}), std::runtime_error);
}

TEST(TimelineRecording, KnowsWhoCopiesWhereOthersMultiply) {
  const Recording roles = recording_of({consumer(0, 0, 10, 64, 1), producer(0, 8, 64)});
  EXPECT_EQ(Role::COPIES, roles.warps[0].role);
  EXPECT_EQ(Role::MULTIPLIES, roles.warps[1].role);
  EXPECT_EQ(Role::ALL, recording_of({plain(0, 0, 0, 20)}).warps[0].role);
  EXPECT_EQ(Role::ALL, recording_of({consumer(0, 0, 0, 64, 1)}).warps[0].role);
}

TEST(TimelineWindow, IsInTheMiddleOfABlockThatIsNotTheFirst) {
  std::vector<RawWarp> raw{plain(0, 0, 0, 100), plain(1, 0, 100 * STEP, 100)};
  for (RawWarp& warp : raw)  // a barrier before the loop, in a line above, is no step
    warp.events.insert(warp.events.begin(), event(Kind::BARRIER, 50, 0, 0));
  const Window window = steady_window(recording_of(raw));
  EXPECT_EQ(150 * STEP, window.begin);
  EXPECT_EQ(156 * STEP, window.end);
}

TEST(TimelineWindow, IsInTheMiddleOfATileWhereABlockHasSeveral) {
  const Window window = steady_window(recording_of({consumer(0, 0, 0, 64, 4)}));
  EXPECT_EQ((2 * 64 + 32) * STEP, window.begin);
}

TEST(TimelineWindow, OfAChangeLiesAroundTheEndOfATile) {
  const Window window = change_window(recording_of({consumer(0, 0, 0, 64, 4)}));
  EXPECT_EQ((2 * 64 - 3) * STEP, window.begin);
  EXPECT_EQ((2 * 64 + 3) * STEP, window.end);
}

TEST(TimelineWindow, OfAChangeIsBetweenTwoBlocksAsWell) {
  const Recording recording =
      recording_of({consumer(0, 0, 0, 64, 1), consumer(132, 0, 65 * STEP, 64, 1)});
  const Window window = change_window(recording);
  EXPECT_EQ(61 * STEP, window.begin);
  EXPECT_EQ(68 * STEP, window.end);
}

TEST(TimelineWindow, OfAChangeIsEmptyWhereNoEndIsKnown) {
  const Window window = change_window(recording_of({plain(0, 0, 0, 100)}));
  EXPECT_EQ(window.begin, window.end);
}

TEST(TimelineWindow, NeedsEnoughSteps) {
  EXPECT_THROW(steady_window(recording_of({plain(0, 0, 0, 8)})), std::runtime_error);
}

TEST(TimelineWaiting, IsWhatPartOfTheTimeARoleWaits) {
  const Recording recording = recording_of({consumer(0, 0, 0, 100, 1), producer(0, 8, 100)});
  const auto multiplies = waiting(recording, Role::MULTIPLIES);
  EXPECT_NEAR(0.1, multiplies.at(Kind::MBARRIER), 0.001);
  EXPECT_NEAR(0.5, multiplies.at(Kind::WGMMA), 0.001);
  const auto copies = waiting(recording, Role::COPIES);
  EXPECT_NEAR(0.9, copies.at(Kind::MBARRIER), 0.001);
  EXPECT_EQ(0u, copies.count(Kind::COPY));
  EXPECT_TRUE(waiting(recording, Role::ALL).empty());
}

TEST(TimelineSpans, AreThoseOfTheWindowAndTheirNeighbours) {
  const Recording recording = recording_of({plain(0, 0, 0, 20)});
  const auto spans = spans_around(recording.warps[0], {5 * STEP, 6 * STEP});
  ASSERT_EQ(4u, spans.size());
  EXPECT_EQ(4 * STEP + 600, spans.front().begin);
  EXPECT_EQ(6 * STEP, spans.back().begin);
  EXPECT_TRUE(spans_around(recording.warps[0], {50 * STEP, 60 * STEP}).empty());
}

}  // namespace
}  // namespace timeline
