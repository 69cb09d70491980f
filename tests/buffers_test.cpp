// Device memory of a problem, on the CPU device, whose memory the host can reach.
#include "harness/buffers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace ladder::harness {
namespace {

using Fp32 = Gemm<float, float>;
using Fp32Variant = Variant<float, float>;

const Shape SHAPE{20, 30, 40};

// Does what `on_workspace` does to the workspace, and nothing else.
Fp32Variant needing(uint64_t bytes, std::function<void(unsigned char*)> on_workspace) {
  return {"needing", [=](const Fp32& p) { on_workspace(static_cast<unsigned char*>(p.workspace)); },
          [=](const Fp32&) { return bytes; }};
}
Fp32Variant without() {
  return {"without", [](const Fp32& p) { EXPECT_EQ(nullptr, p.workspace); }};
}

TEST(Workspace, BytesAreAskedForWithTheProblemsDimensions) {
  const Padding padding{4, 8, 12};
  const Problem<float, float> problem(SHAPE, Data::EXACT, 1, padding);
  const Fp32Variant variant("sizes", nullptr, [&](const Fp32& p) {
    EXPECT_EQ(20, p.M);
    EXPECT_EQ(30, p.N);
    EXPECT_EQ(40, p.K);
    EXPECT_EQ(problem.lda, p.lda);
    EXPECT_EQ(problem.ldb, p.ldb);
    EXPECT_EQ(problem.ldc, p.ldc);
    return uint64_t{100};
  });
  EXPECT_EQ(100u, workspace_bytes(variant, SHAPE, padding));
  EXPECT_EQ(padding.c, problem.padding().c);
  const BufferSets<float, float> sets(problem, 1, {variant});
  EXPECT_EQ(100u, sets.gemm(0, nullptr, variant).workspace_bytes);
}

TEST(Workspace, EachVariantGetsWhatItAsksFor) {
  const Problem<float, float> problem(SHAPE, Data::EXACT, 1);
  const auto nothing = [](unsigned char*) {};
  const std::vector<Fp32Variant> variants{needing(1000, nothing), without(),
                                          needing(5000, nothing)};
  EXPECT_EQ(5000u, workspace_bytes(variants, SHAPE));
  const BufferSets<float, float> sets(problem, 2, variants);
  for (const int set : {0, 1}) {
    EXPECT_EQ(1000u, sets.gemm(set, nullptr, variants[0]).workspace_bytes);
    EXPECT_EQ(5000u, sets.gemm(set, nullptr, variants[2]).workspace_bytes);
    EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(sets.gemm(set, nullptr, variants[2]).workspace) % 16);
    EXPECT_EQ(nullptr, sets.gemm(set, nullptr, variants[1]).workspace);
    EXPECT_EQ(0u, sets.gemm(set, nullptr, variants[1]).workspace_bytes);
  }
}

TEST(Workspace, IsPoisonedBeforeEachRun) {
  const Problem<float, float> problem(SHAPE, Data::EXACT, 1);
  const Fp32Variant variant = needing(100, [](unsigned char* workspace) {
    for (int i = 0; i < 100; ++i) ASSERT_EQ(POISON, workspace[i]) << i;
    std::memset(workspace, 0, 100);
  });
  BufferSets<float, float> sets(problem, 1, {variant});
  for (int run = 0; run < 2; ++run) EXPECT_EQ("", sets.run_poisoned(variant, nullptr).stray);
}

TEST(Workspace, AWriteOutsideItIsSeen) {
  const Problem<float, float> problem(SHAPE, Data::EXACT, 1);
  const auto nothing = [](unsigned char*) {};
  const auto stray = [&](int offset) {
    const Fp32Variant variant =
        needing(100, [=](unsigned char* workspace) { workspace[offset] = 1; });
    // Another variant's larger workspace is no excuse.
    BufferSets<float, float> sets(problem, 1, {variant, needing(9000, nothing)});
    return sets.run_poisoned(variant, nullptr).stray;
  };
  EXPECT_EQ("", stray(0));
  EXPECT_EQ("", stray(99));
  EXPECT_EQ("wrote before the workspace, to byte -1", stray(-1));
  EXPECT_EQ("wrote before the workspace, to byte -4096", stray(-4096));
  EXPECT_EQ("wrote past the end of the workspace, to byte 100 of 100", stray(100));
  EXPECT_EQ("wrote past the end of the workspace, to byte 4195 of 100", stray(100 + 4095));
}

TEST(Workspace, AWriteOutsideItIsAWrongResult) {
  const Problem<float, float> problem(SHAPE, Data::EXACT, 1);
  Output<float> output = reference_output(problem);
  const Output<float> reference = output;
  output.poison();
  for (int i = 0; i < SHAPE.m; ++i) std::copy_n(reference.row(i), SHAPE.n, output.row(i));
  EXPECT_TRUE(verify(output, reference, problem.bound()).ok);
  output.stray = "wrote before the workspace, to byte -1";
  const Verdict verdict = verify(output, reference, problem.bound());
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(output.stray, verdict.message);
}

// A variant that writes nothing must not inherit what the one before it wrote.
TEST(BufferSets, CIsPoisonedBeforeEachRun) {
  const Problem<float, float> problem(SHAPE, Data::EXACT, 1);
  BufferSets<float, float> sets(problem, 1);
  sets.run_poisoned(
      [](const Fp32& p) {
        for (int i = 0; i < p.M; ++i) std::fill_n(p.C + i * p.ldc, p.N, 1.0f);
      },
      nullptr);
  const Output<float> output = sets.run_poisoned([](const Fp32&) {}, nullptr);
  for (const float x : output.memory) ASSERT_TRUE(std::isnan(x));
}

TEST(BufferSets, EverySetHasTheSameOperandsAndItsOwnC) {
  const Problem<float, float> problem(SHAPE, Data::EXACT, 1);
  const BufferSets<float, float> sets(problem, 2);
  const Fp32 first = sets.gemm(0, nullptr), second = sets.gemm(1, nullptr);
  for (const Fp32& p : {first, second}) {
    EXPECT_EQ(0, std::memcmp(p.A, problem.a.data(), problem.a.size() * sizeof(float)));
    EXPECT_EQ(0, std::memcmp(p.B, problem.b.data(), problem.b.size() * sizeof(float)));
  }
  EXPECT_NE(first.A, second.A);
  EXPECT_NE(first.C, second.C);
}

}  // namespace
}  // namespace ladder::harness
