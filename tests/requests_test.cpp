// How single accesses become requests: turns of loops, and what a cp.async of 16 bytes costs.
#include <gtest/gtest.h>

#include "cpu_device/cost.h"
#include "cpu_device/turns.h"

namespace cpu_device {
namespace {

Turns after(std::initializer_list<uintptr_t> blocks) {
  Turns turns;
  for (const uintptr_t block : blocks) turns.enter_block(block);
  return turns;
}

bool together(const Turns& one, const Turns& other) {
  return cpu_device::together(one.way(), other.way(), {1, 2, 3, 4});
}

// Blocks: 1 outer loop, 2 inner loop, 3 a condition's body in it, 4 behind the inner loop.
TEST(Turns, ALaneThatSkippedIsInTheSameTurn) {
  const Turns all = after({1, 2, 3, 2, 3, 4, 1, 2, 3}), skipped = after({1, 2, 3, 2, 4, 1, 2, 3});
  EXPECT_EQ(all.hash(), skipped.hash());
  EXPECT_TRUE(together(all, skipped));
}

TEST(Turns, OfALoopDiffer) {
  const Turns first = after({1, 2, 3}), second = after({1, 2, 3, 2, 3}),
              of_the_next = after({1, 2, 3, 2, 3, 4, 1, 2, 3});
  EXPECT_NE(first.hash(), second.hash());
  EXPECT_FALSE(together(first, second));
  EXPECT_NE(second.hash(), of_the_next.hash());
  EXPECT_FALSE(together(first, of_the_next));
}

TEST(Turns, ALoopThatOthersDidNotEnterSeparatesNobody) {
  EXPECT_TRUE(together(after({1, 2, 2, 2, 4}), after({1, 3, 4})));
}

std::vector<uintptr_t> repeated(const Turns& now, const Turns& then) {
  std::vector<uintptr_t> blocks;
  now.add_repeated(then.way(), blocks);
  return blocks;
}

TEST(Turns, OfALoopThatHasBeenLeftSeparateNobody) {
  const Turns first = after({1, 2, 4}), second = after({1, 2, 2, 4});
  EXPECT_TRUE(repeated(first, first).empty());
  EXPECT_TRUE(cpu_device::together(first.way(), second.way(), {}));
  EXPECT_FALSE(cpu_device::together(first.way(), second.way(), {2}));
}

TEST(Turns, OfALoopGoOnWhereItsBlockIsRepeated) {
  using Blocks = std::vector<uintptr_t>;
  const Turns then = after({1, 2, 3});
  EXPECT_EQ((Blocks{2, 3}), repeated(after({1, 2, 3, 2, 4}), then));
  EXPECT_EQ((Blocks{1, 2, 3}), repeated(after({1, 2, 3, 4, 1}), then));
  EXPECT_EQ((Blocks{2, 3}), repeated(after({1, 2, 3, 2, 3, 2}), after({1, 2, 3, 2, 3})));
  EXPECT_EQ(Blocks{}, repeated(after({1, 2, 3, 4, 5, 5}), then));  // a loop behind it
}

TEST(Turns, BeginAgainAfterReset) {
  Turns turns = after({1, 2, 2, 1});
  turns.reset();
  EXPECT_EQ(0u, turns.hash());
  EXPECT_TRUE(turns.way().path.empty());
}

// All lanes copy 16 bytes: from 16 * l + `from` to 16 * l + `to`, in rows of `row` lanes that are
// `pitch` bytes apart in shared memory. Sectors as ncu counted them on an H200.
struct Copy {
  unsigned from, to, row, pitch, sectors;
};
TEST(CopiedCost, IsWhatNcuCounts) {
  for (const Copy& c : {Copy{0, 0, 32, 0, 16}, Copy{0, 16, 32, 0, 20}, Copy{16, 0, 32, 0, 20},
                        Copy{16, 16, 32, 0, 17}, Copy{32, 16, 32, 0, 21}, Copy{0, 0, 8, 144, 18},
                        Copy{0, 0, 4, 80, 20}, Copy{0, 0, 2, 48, 24}}) {
    Request request;
    request.mask = ~0u;
    for (unsigned lane = 0; lane < WARP; ++lane) {
      const unsigned row = lane / c.row, column = lane % c.row * 16;
      request.offset[lane] = c.from + row * (c.row < 32 ? 1024 : 0) + column;
      request.to[lane] = c.to + row * c.pitch + column;
    }
    EXPECT_EQ(c.sectors, copied_cost(request).actual)
        << c.from << " " << c.to << " " << c.row << " " << c.pitch;
  }
}

TEST(SharedCost, OfAStoreHasNoPairs) {
  Request all_same;
  all_same.mask = ~0u;
  for (uint32_t& offset : all_same.offset) offset = 0;
  EXPECT_EQ(2u, shared_cost(all_same, 16, true).actual);
  EXPECT_EQ(4u, shared_cost(all_same, 16, false).actual);
}

}  // namespace
}  // namespace cpu_device
