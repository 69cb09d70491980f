// The parts of bench/peers that need no device, and the gate, whose stream is a thread here.
#include "fake_runtime.h"

namespace {
void (*host_function)(void*) = nullptr;
void* host_argument = nullptr;
int held = 0;
}  // namespace
#define cudaLaunchHostFunc(stream, function, argument) \
  (void(stream), host_function = (function), host_argument = (argument), ++held, cudaSuccess)

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "peers/cutlass.h"
#include "peers/race.cpp"

namespace ladder::peers {
namespace {

TEST(Bursts, EveryRoundHasEachContenderOnce) {
  std::mt19937_64 random(1);
  std::vector<size_t> all;
  for (const Burst& burst : draw_bursts({1, 2, 3, 4}, 10, random))
    all.insert(all.end(), burst.begin(), burst.end());
  ASSERT_EQ(all.size(), 40U);
  for (size_t round = 0; round < 40; round += 4)
    EXPECT_EQ(std::set<size_t>(all.begin() + round, all.begin() + round + 4).size(), 4U);
}

TEST(Bursts, OrdersDiffer) {
  std::mt19937_64 random(1);
  std::map<size_t, int> first;
  for (const Burst& burst : draw_bursts({6, 6}, 100, random)) ++first[burst.front()];
  EXPECT_GT(first[0], 50);  // bursts of one launch: of 200
  std::set<Burst> orders;
  for (const Burst& burst : draw_bursts({2, 2, 2}, 100, random)) orders.insert(burst);
  EXPECT_GT(orders.size(), 6U);
}

TEST(Bursts, AreNoLongerThanTheyMayBe) {
  std::mt19937_64 random(1);
  for (const Burst& burst : draw_bursts({3, 4}, 50, random))
    EXPECT_LE(std::accumulate(burst.begin(), burst.end(), 0.0,
                              [](double sum, size_t i) { return sum + (i == 0 ? 3 : 4); }),
              10);
  for (const Burst& burst : draw_bursts({0.001}, 1000, random))
    EXPECT_LE(burst.size(), LONGEST_BURST);
  EXPECT_EQ(draw_bursts({25}, 3, random).size(), 3U);  // a launch at least
}

TEST(Rounds, TakeAsLongAsWanted) {
  EXPECT_EQ(rounds_for({1, 4}, 100, 7, 100), 20);
  EXPECT_EQ(rounds_for({0.001}, 100, 7, 100), 100);
  EXPECT_EQ(rounds_for({50, 50}, 100, 7, 100), 7);
  EXPECT_EQ(rounds_for({0}, 100, 7, 100), 100);
}

TEST(Survivors, AreNearTheFastestOrTheFirstOfTheirFamily) {
  const std::vector<Standing> all{{"a", true, 9},    {"b", false, 1}, {"b", false, 1.1},
                                  {"b", false, 1.2}, {"c", false, 5}, {"c", false, 4}};
  using Numbers = std::vector<size_t>;
  EXPECT_EQ(survivors(all, {1.15, 9, 0}), (Numbers{0, 1, 2}));
  EXPECT_EQ(survivors(all, {1.15, 9, 1}), (Numbers{0, 1, 2, 5}));
  EXPECT_EQ(survivors(all, {1.15, 1, 1}), (Numbers{0, 1, 5}));
  EXPECT_EQ(survivors(all, {100, 2, 0}), (Numbers{0, 1, 2, 4, 5}));
  EXPECT_TRUE(survivors({}, {2, 1, 1}).empty());
}

CutlassKernel tile(int rows, int columns, bool stream_k = false, bool unaligned = false) {
  CutlassKernel kernel;
  kernel.rows = rows, kernel.columns = columns;
  kernel.stream_k = stream_k, kernel.for_unaligned_rows = unaligned;
  return kernel;
}

TEST(Choices, AreThoseThatMayBeTheFastest) {
  const auto count = [](const CutlassKernel& kernel, int m, int n, int k) {
    return cutlass_choices(kernel, m, n, k, 132).size();
  };
  EXPECT_EQ(count(tile(128, 128), 128, 128, 128), 1U);    // one wave
  EXPECT_EQ(count(tile(128, 128), 8192, 8192, 128), 4U);  // the order matters
  EXPECT_EQ(count(tile(64, 64), 8192, 8192, 128), 0U);    // too small
  EXPECT_EQ(count(tile(128, 128, false, true), 8192, 8192, 128), 0U);
  EXPECT_EQ(count(tile(128, 128, false, true), 8192, 8192, 127), 4U);
  // Two tiles, 256 steps: 2 to 64 parts of at least 4 steps, and three others.
  EXPECT_EQ(count(tile(128, 128, true), 128, 256, 16384), 12U);
  EXPECT_EQ(count(tile(128, 128, true), 128, 256, 256), 3U);
}

TEST(Choices, AreNamed) {
  EXPECT_EQ(describe({}), "");
  EXPECT_EQ(describe({8, CutlassChoice::WHOLE_TILES, 1}), ", swizzle 8, whole tiles");
  EXPECT_EQ(describe({1, CutlassChoice::SPLIT_K, 6}), ", K in 6");
}

TEST(Gate, HoldsTheStreamUntilItIsOpened) {
  Gate gate;
  gate.close(nullptr);
  bool passed = false;
  std::thread stream([&] {
    host_function(host_argument);
    passed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(passed);
  gate.open();
  stream.join();
  EXPECT_TRUE(passed);
}

TEST(Gate, OpensByItselfInTheEnd) {
  Gate gate;
  gate.close(nullptr);
  host_function(host_argument);
}

TEST(Race, GoesRoundTheSetsAndLaunchesOnceMoreAfterARest) {
  held = 0;
  std::vector<int> sets;
  std::mt19937_64 random(1);
  Race race(nullptr, 3);
  const auto times = race.run({[&](int set) { sets.push_back(set); }}, {5}, 4, random);
  EXPECT_EQ(times[0].size(), 4U);
  EXPECT_EQ(sets, (std::vector<int>{0, 1, 2, 0}));  // a long one is not launched once more
  EXPECT_EQ(held, 2);
  sets.clear();
  race.run({[&](int set) { sets.push_back(set); }}, {0.1}, 4, random);
  EXPECT_EQ(sets.size(), 5U);
}

TEST(Race, OpensTheGateWhenALaunchFails) {
  std::mt19937_64 random(1);
  Race race(nullptr, 1);
  const auto fails = [](int) { throw CudaError("failed"); };
  EXPECT_THROW(race.run({fails}, {5}, 1, random), CudaError);
}

}  // namespace
}  // namespace ladder::peers
