// Problems of integers and of tf32: what is drawn, what has to be stored, and what the bounds let
// through.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "harness/problem.h"

namespace ladder::harness {
namespace {

TEST(Integers, RandomOnesAreAllThatEightBitsHold) {
  const Problem<int8_t, int8_t> p({64, 4, 64}, Data::UNIFORM, 1);
  std::vector<bool> seen(256);
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < 64; ++k) seen[static_cast<size_t>(p.at_a(i, k)) + 128] = true;
  EXPECT_EQ(256, std::count(seen.begin(), seen.end(), true));
}

TEST(Integers, AreRoundedToTheNearestAndCut) {
  EXPECT_EQ(12, requantised(1234, 0.01f, 0));
  EXPECT_EQ(15, requantised(1234, 0.01f, 3));
  EXPECT_EQ(2, requantised(3, 0.5f, 0));  // ties to even
  EXPECT_EQ(2, requantised(5, 0.5f, 0));
  EXPECT_EQ(-2, requantised(-5, 0.5f, 0));
  EXPECT_EQ(127, requantised(2e9, 1, -128));
  EXPECT_EQ(-128, requantised(-2e9, 1, 127));
}

// One more than a float holds.
TEST(Integers, SumsOf32BitsAreComparedAsTheyAre) {
  Problem<int8_t, int32_t> p({1, 1, 2000}, Data::ZEROS, 1);
  for (int k = 0; k < 1100; ++k) p.a[static_cast<size_t>(k)] = p.b[static_cast<size_t>(k)] = 127;
  p.a[1999] = p.b[1999] = 1;
  const Output<int32_t> reference = reference_output(p);
  EXPECT_EQ(1100 * 127 * 127 + 1, reference.row(0)[0]);
  Output<int32_t> output = p.make_output();
  output.poison();
  output.row(0)[0] = 1100 * 127 * 127;
  EXPECT_FALSE(verify(output, reference, p.bound()).ok);
  EXPECT_EQ("", check_against_double(p, reference, {0}));
}

// A * B of a problem whose factors have been changed so.
template <class Change>
Output<float> product_of(Problem<tf32, float> p, const Change& change) {
  for (auto* matrix : {&p.a, &p.b})
    for (tf32& x : *matrix) x.value = change(x.value);
  return reference_output(p);
}
float cut(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits &= ~0x1FFFu;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}
float rounded(float x) {
  return std::isnan(x) ? x : cut(x + (x - cut(x)));  // the double of what is cut off is carried
}

TEST(Tf32Bounds, AcceptWhatTheyAreForAndNothingCoarser) {
  for (const int k : {1, 3, 17, 128, 1000}) {
    const Problem<tf32, float> p({48, 48, k}, Data::UNIFORM, 5);
    const Output<float> reference = reference_output(p);
    const auto wrong = [&](float (*change)(float), Rounds rounds) {
      Output<float> output = product_of(p, change);
      Output<float> all = p.make_output();
      all.poison();
      for (int i = 0; i < 48; ++i) std::copy(output.row(i), output.row(i) + 48, all.row(i));
      return verify(all, reference, p.bound(nullptr, rounds)).wrong;
    };
    EXPECT_EQ(0, wrong(rounded, Rounds::TF32)) << k;
    EXPECT_EQ(0, wrong(cut, Rounds::CUT_TO_TF32)) << k;
    EXPECT_GT(wrong(cut, Rounds::TF32), 0) << k;
    EXPECT_GT(wrong(rounded, Rounds::SPLIT), 48 * 48 / 4) << k;
    const auto halved = [](float x) { return cut(x * (1 - 0x1p-9f)); };
    EXPECT_GT(wrong(halved, Rounds::CUT_TO_TF32), 0) << k;
  }
}

}  // namespace
}  // namespace ladder::harness
