// What the library decides and says, of GPUs that are not here: its plan is made of numbers alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

#include "library/along_k.h"

namespace ladder::library {
namespace {

using Half = uint16_t;  // any two bytes: no element is looked at
using Problem = Gemm<Half, Half>;
using Floats = Gemm<float, float>;
struct Byte {  // e4m3, or any other byte that is no integer
  char bits;
};

const Gpu H200{"NVIDIA H200", 90, 132, true, true, true};
const Gpu A100{"NVIDIA A100", 80, 108, false, false, true};
const Gpu OTHER{"NVIDIA H20", 90, 78, true, true, true};
const Gpu OF_ANOTHER_BUILD{"NVIDIA H200", 90, 132, false, false, true};
const Gpu B200{"NVIDIA B200", 100, 148, false, false, true},
    OF_NO_BUILD{"NVIDIA H200", 90, 132, false, false, false};
const Gpu T4{"Tesla T4", 75, 40, false, false, true};

template <class P = Problem>
P problem(int m, int n, int k) {
  const auto ld = [](int width) { return (width + 7) / 8 * 8; };
  P p{};
  p.M = m, p.N = n, p.K = k;
  p.lda = ld(k), p.ldb = p.ldc = ld(n);
  return p;
}
Problem transposed_b(Problem p) {
  p.transposed_b = true;
  p.ldb = (p.K + 7) / 8 * 8;
  return p;
}

template <class T>
Plan plan_on(const Gemm<T, T>& p, const Gpu& gpu, Type type, Tiles tiles = Tiles::FIRST_DONE) {
  return plan(p, type, gpu, tiles, [](Way way, const Gemm<T, T>&) {
    return uint64_t{way == Way::SPLIT_K ? 1000U : 0U};
  });
}
Plan plan_of(const Problem& p, const Gpu& gpu = H200, Type type = Type::FP16) {
  return plan_on(p, gpu, type);
}
std::string words(const Problem& p, const Gpu& gpu = H200, Type type = Type::FP16) {
  return in_words(plan_of(p, gpu, type), p, type, gpu, "");
}
void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
}
template <class T>
std::string refusal(const Gemm<T, T>& p, const Gpu& gpu, Type type) {
  try {
    plan_on(p, gpu, type);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// Says what a plan takes, of the processor's time: other tests run beside it.
TEST(Library, PlansQuickly) {
  constexpr int TIMES = 200;
  double least = INFINITY;
  for (int i = 0; i < 20; ++i) {
    const std::clock_t start = std::clock();
    for (int j = 0; j < TIMES; ++j) plan_of(problem(1000 + j, 4096, 4096));
    least =
        std::min(least, 1e6 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / TIMES);
  }
  std::printf("a plan takes %.2f us\n", least);
  EXPECT_LT(least, 50);
}

TEST(Library, TakesTheTileThatIsDoneFirst) {
  for (const int n : {64, 512, 1000, 4096, 8192})
    for (const int m : {1, 16, 128, 4096}) {
      const Problem p = problem(m, n, 4096);
      const Plan made = plan_of(p);
      ASSERT_EQ(Way::PRODUCT, made.way);
      for (size_t i = 0; i < tuned::H200.count; ++i) {
        const tuned::Row& row = tuned::H200.rows[i];
        if (!is_allowed(row.candidate, Way::PRODUCT, Type::FP16, false)) continue;
        EXPECT_LE(made.ns, tuned::estimate(p, row.candidate, row.constants, 132).total)
            << tuned::name(row.candidate);
      }
    }
}

// What gemm.cpp launches for a way has the tile.
TEST(Library, TakesNoTileThatTheWayDoesNotHave) {
  std::mt19937 random(11);
  const auto up_to = [&](double most) {
    return static_cast<int>(
        std::exp2(std::uniform_real_distribution<>(0, std::log2(most + 1))(random)));
  };
  for (int i = 0; i < 2000; ++i) {
    Problem p = problem(up_to(4096), up_to(30000), up_to(30000));
    if (i % 2 == 1) p = transposed_b(p);
    if (i % 3 == 2) p.transposed_a = true, p.lda = (p.M + 7) / 8 * 8;
    Gpu gpu = H200;
    if (i % 5 == 0) gpu.name = "NVIDIA H100 80GB HBM3";
    const Plan plan = plan_of(p, gpu);
    const tuned::Candidate& c = plan.tile->candidate;
    const bool is_tile =
        c.kernel == tuned::Kernel::FIT_THE_WAVES || c.kernel == tuned::Kernel::PING_PONG;
    if (plan.way == Way::LINEAR) {
      EXPECT_TRUE(is_linear_tile(c)) << tuned::name(c);
    } else if (plan.way == Way::LAYOUT && p.transposed_a) {
      EXPECT_TRUE(is_among(c, A_BY_COLUMNS)) << tuned::name(c);
    } else if (plan.way == Way::LAYOUT || is_tile) {
      EXPECT_TRUE(is_among(c, TILES)) << tuned::name(c);
    } else {
      EXPECT_FALSE(is_large(c)) << tuned::name(c);
    }
  }
}

TEST(Library, SaysWhichKernelAndWhy) {
  const Problem p = problem(4096, 4096, 4096);
  const std::string text = words(p);
  expect_has(text, "fp16, C of 4096 x 4096, K of 4096, A by rows, B by rows, on NVIDIA H200\n");
  expect_has(text, "stage " + tuned::name(plan_of(p).tile->candidate) + ",");
  const auto allowed = std::count_if(
      tuned::H200.rows, tuned::H200.rows + tuned::H200.count, [](const tuned::Row& row) {
        return is_allowed(row.candidate, Way::PRODUCT, Type::FP16, false);
      });
  expect_has(text,
             "which the model of 15 expects to be done first of " + std::to_string(allowed) + " ");
  expect_has(text, "us to start and to end");
  EXPECT_EQ(text.find("workspace"), std::string::npos) << text;
  EXPECT_EQ(text.find("no constants"), std::string::npos) << text;
}

TEST(Library, SaysWhoseConstantsItTakes) {
  expect_has(words(problem(512, 512, 512), OTHER),
             "no constants for NVIDIA H20: those of NVIDIA H200 are taken");
  expect_has(words(problem(512, 512, 512), H200, Type::BF16), "were measured in fp16");
}

TEST(Library, HasNoKernelOf11cInBf16) {
  for (int m = 1; m <= 8192; m *= 2)
    for (int n = 64; n <= 8192; n *= 2)
      EXPECT_NE(tuned::Kernel::CHOSEN_BY_SHAPE,
                plan_of(problem(m, n, 512), H200, Type::BF16).tile->candidate.kernel);
}

// A pass of its own would find the product rounded, which in fp16 is infinity beyond 65504.
TEST(Library, FusesEveryEpilogue) {
  for (const Gpu& gpu : {H200, A100, B200, OF_ANOTHER_BUILD})
    for (const bool transposed_a : {false, true})
      for (const bool transposed_b : {false, true})
        for (const int m : {1, 16, 300, 4096})
          for (const int n : {64, 4096, 16384})
            for (const int k : {128, 4096, 16384}) {
              Problem p = problem(m, n, k);
              p.transposed_a = transposed_a, p.transposed_b = transposed_b;
              p.lda = transposed_a ? (m + 7) / 8 * 8 : k, p.ldb = transposed_b ? k : n;
              p.epilogue.alpha = 1.0f / 1024;
              const Way way = plan_of(p, gpu).way;
              const bool is_fused = way == Way::FUSED || way == Way::LAYOUT || way == Way::LINEAR;
              EXPECT_TRUE(gpu.has_wgmma ? is_fused : way == Way::SWIZZLE)
                  << gpu.name << " " << m << " " << n << " " << k << transposed_a << transposed_b;
            }
}

TEST(Library, SaysWhichKernelHasTheEpilogue) {
  Problem large = problem(4096, 4096, 4096), few_rows = problem(1, 4096, 4096);
  for (Problem* p : {&large, &few_rows}) p->epilogue.activation = Activation::GELU;
  EXPECT_EQ(Way::FUSED, plan_of(large).way);
  expect_has(words(large), "stage 16, the epilogue within the kernel of ");
  EXPECT_EQ(Way::LINEAR, plan_of(few_rows).way);
  EXPECT_TRUE(is_linear_tile(plan_of(few_rows).tile->candidate));
  expect_has(words(few_rows), "the kernel for linear layers of few rows, with the tiles of 14 ");
  expect_has(words(large, A100), "stage 07b swizzle, the epilogue within the kernel: ");
}

// Which reads a matrix that begins anywhere, where that of 16 bits takes a copy of it.
TEST(Library, HasAnEpilogueInFp32) {
  auto p = problem<Floats>(512, 512, 512);
  p.epilogue.bias = reinterpret_cast<const float*>(uintptr_t{0x1004});
  p.epilogue.beta = 1, p.epilogue.addend = p.epilogue.bias, p.epilogue.ld_addend = 513;
  for (const Gpu& gpu : {H200, A100}) {
    const Plan made = plan_on(p, gpu, Type::FP32);
    EXPECT_EQ(gpu.has_clusters ? Way::FEW_ROWS : Way::SPLIT_K, made.way);
    EXPECT_FALSE(made.bias || made.c || (gpu.has_clusters && made.addend));
    expect_has(in_words(made, p, Type::FP32, gpu, "05d x"), ", the epilogue within the kernel");
  }
  // 05c's parts of sums are in C before they are finished, and C may be the addend.
  const Plan divided = plan_on(p, A100, Type::FP32);
  EXPECT_TRUE(divided.addend && !divided.residual && !divided.bias);
  expect_has(in_words(divided, p, Type::FP32, A100, ""), "C, which it may be, has parts of sums");
  p.K = 0;
  EXPECT_EQ(Way::ZEROS, plan_on(p, H200, Type::FP32).way);
  expect_has(in_words(plan_on(p, H200, Type::FP32), p, Type::FP32, H200, ""),
             "05c's kernel for epilogues alone");
}

TEST(Library, TakesTheWeightsOfALinearLayer) {
  for (const int m : {1, 16, 4096}) {
    Problem p = transposed_b(problem(m, 4096, 4096));
    const Plan alone = plan_of(p);
    EXPECT_EQ(m <= 16 ? Way::LINEAR : Way::LAYOUT, alone.way) << m;
    p.epilogue.activation = Activation::GELU;
    const Plan finished = plan_of(p);
    EXPECT_EQ(alone.way, finished.way) << m;
    EXPECT_EQ(alone.tile, finished.tile) << m;
  }
  EXPECT_EQ(Way::PRODUCT, plan_of(problem(16, 4096, 4096)).way);  // 14's own
  Problem p = transposed_b(problem(16, 4096, 4096));
  p.transposed_a = true, p.lda = 16;
  EXPECT_EQ(Way::LAYOUT, plan_of(p).way);
}

// Each layout has constants of its own, and a choice that was remembered is the layout's. With both
// by columns the constants are those of A by columns, and of the H100 nobody has measured these.
TEST(Library, RemembersTheLayout) {
  const tuned::Gpu& table = tuned::H200;
  Problem by_rows = problem(16, 4096, 4096);
  by_rows.epilogue.activation = Activation::GELU;
  Problem a_by_columns = by_rows;
  a_by_columns.transposed_a = true, a_by_columns.lda = 16;
  const auto is_in = [](const tuned::Row* row, const tuned::Row* rows, size_t count) {
    return row >= rows && row < rows + count;
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(is_in(plan_of(by_rows).tile, table.rows, table.count));
    EXPECT_TRUE(
        is_in(plan_of(transposed_b(by_rows)).tile, table.b_by_columns, table.count_by_columns));
    for (const Problem& p : {a_by_columns, transposed_b(a_by_columns)})
      EXPECT_TRUE(is_in(plan_of(p).tile, table.a_by_columns, table.count_a_by_columns));
  }
  const Gpu h100{tuned::H100.name, 90, 132, true, true, true};
  EXPECT_TRUE(is_in(plan_of(a_by_columns, h100).tile, tuned::H100.rows, tuned::H100.count));
}

TEST(Library, StartsEarlyOnlyWhereThatPays) {
  EXPECT_TRUE(plan_of(problem(1000, 1000, 1000)).pays_early);
  EXPECT_FALSE(plan_of(problem(4096, 4096, 4096)).pays_early);
  EXPECT_FALSE(plan_of(problem(347, 2112, 7168)).pays_early);
  // The GPU's test of launches that start early has these: 14, 13b, 13, linear layers and 18.
  for (const int m : {256, 1000, 1536})
    EXPECT_TRUE(plan_of(problem(m, 1024, 1024)).pays_early) << m;
  const Plan linear = plan_of(transposed_b(problem(48, 2048, 2048))),
             layout = plan_of(transposed_b(problem(1000, 1024, 1024)));
  EXPECT_EQ(Way::LINEAR, linear.way);
  EXPECT_EQ(Way::LAYOUT, layout.way);
  EXPECT_TRUE(linear.pays_early && layout.pays_early);
  EXPECT_FALSE(plan_of(problem(100, 18944, 3584)).pays_early);  // memory is the limit
  EXPECT_FALSE(plan_of(problem(8, 14336, 4096)).pays_early);
  EXPECT_FALSE(plan_of(problem(512, 512, 512)).pays_early);  // two blocks on a multiprocessor
}

TEST(Library, TakesOperandsByColumns) {
  const Problem p = transposed_b(problem(512, 4096, 512));
  EXPECT_EQ(Way::LAYOUT, plan_of(p).way);
  EXPECT_NE(tuned::Kernel::FEW_ROWS, plan_of(p).tile->candidate.kernel);
  expect_has(words(p), "stage 18, which takes any layout");
  // Where A's rows run along M, a tile whose height is no multiple of 64 begins off the lines.
  Problem large = transposed_b(problem(8192, 8192, 8192));
  EXPECT_EQ("13 168x256", tuned::name(plan_of(large).tile->candidate));
  large.transposed_a = true;
  EXPECT_EQ(0, plan_of(large).tile->candidate.BM % 64);
  Problem with_bias = p;
  const Half bias[8] = {};
  with_bias.epilogue.bias = bias;
  EXPECT_EQ(plan_of(with_bias).bias.has_value(), reinterpret_cast<uintptr_t>(bias) % 16 != 0);
  expect_has(words(with_bias), ", the epilogue within the kernel,");
}

TEST(Library, CopiesWhatDoesNotBeginOn16Bytes) {
  Problem p = problem(100, 200, 300);
  EXPECT_EQ(0U, plan_of(p).workspace_bytes(2));
  p.lda = 301;
  const Plan made = plan_of(p);
  ASSERT_TRUE(made.a && !made.b && !made.c);
  EXPECT_EQ(320, made.a->ld);  // 304 would begin on 16 bytes, and 320 begins on lines
  EXPECT_EQ(100U * 320 * 2, made.workspace_bytes(2) / 128 * 128);
  expect_has(words(p), "first, a copy of A to the workspace, in rows of 320 elements");
  p.ldc = 201;
  EXPECT_TRUE(plan_of(p).c);
  expect_has(words(p), "last, a copy of C from the workspace");
  p = problem(100, 30, 300);
  p.ldb = 31;
  EXPECT_EQ(32, plan_of(p).b->ld);  // on lines it would be twice as much
  p = problem(100, 200, 300);
  p.B = reinterpret_cast<const Half*>(uintptr_t{0x1002});
  EXPECT_TRUE(plan_of(p).b);
}

// Addresses that are not there are not those of C.
TEST(Library, NeedsNoAddressToExplain) {
  Problem p = transposed_b(problem(512, 512, 512));
  p.transposed_a = true;
  p.epilogue.activation = Activation::GELU;
  EXPECT_EQ(0U, plan_of(p).workspace_bytes(2));
}

TEST(Library, FallsBackByName) {
  for (const Type type : {Type::FP16, Type::BF16})
    for (const Gpu& gpu : {A100, B200, OF_ANOTHER_BUILD})
      expect_has(words(problem(512, 512, 512), gpu, type),
                 "stage 07b swizzle: the faster ones need wgmma");
  const Problem p = transposed_b(problem(64, 128, 512));
  const Plan made = plan_of(p, A100);
  EXPECT_EQ(Way::SWIZZLE, made.way);
  ASSERT_TRUE(made.turned_b);
  EXPECT_EQ(512, made.turned_b->rows);
  EXPECT_EQ(128, made.turned_b->columns);
  // 18's pass writes rows 8 elements apart, not 64 as a copy has them.
  EXPECT_EQ(1000, plan_of(transposed_b(problem(64, 1000, 512)), A100).turned_b->ld);
  expect_has(words(p, A100), "18's pass that transposes B");
  const auto floats = problem<Floats>(512, 512, 512);
  const Plan of_floats = plan_on(floats, A100, Type::FP32);
  EXPECT_EQ(Way::SPLIT_K, of_floats.way);
  EXPECT_EQ(1000U, of_floats.workspace_bytes(4));
  expect_has(in_words(of_floats, floats, Type::FP32, A100, ""), "stage 05c split_k");
  EXPECT_EQ(Way::FEW_ROWS, plan_on(floats, H200, Type::FP32).way);
  expect_has(in_words(plan_on(floats, H200, Type::FP32), floats, Type::FP32, H200, "05d x"),
             "stage 05d x, which");
}

TEST(Library, DoesNothingForNothing) {
  for (const Problem& p : {problem(0, 5, 7), problem(5, 0, 7), problem(0, 0, 0)}) {
    EXPECT_EQ(Way::NOTHING, plan_of(p).way);
    expect_has(words(p), "nothing: C is empty");
  }
  Problem p = problem(5, 9, 0);
  EXPECT_EQ(Way::ZEROS, plan_of(p).way);
  p.ldc = 9;  // zeros need no alignment
  EXPECT_EQ(0U, plan_of(p).workspace_bytes(2));
  p.epilogue.activation = Activation::RELU;
  expect_has(words(p), "16's kernel for epilogues alone");
  EXPECT_TRUE(plan_of(p).c);
}

TEST(Library, RefusesByName) {
  const Problem good = problem(32, 32, 32);
  const auto refuses = [&](auto change, const std::string& what, const Gpu& gpu = H200,
                           Type type = Type::FP16) {
    Problem bad = good;
    change(bad);
    expect_has(refusal(bad, gpu, type), what);
  };
  EXPECT_EQ("", refusal(good, H200, Type::FP16));
  refuses([](Problem& p) { p.M = -1; }, "M is -1");
  refuses([](Problem& p) { p.K = MAX_DIMENSION + 1; }, "K is 2147482624");
  refuses([](Problem& p) { p.lda = 31; }, "lda is 31, but a row has 32 elements");
  refuses([](Problem& p) { p.transposed_a = true, p.M = 33; }, "lda is 32, but a row has 33");
  refuses([](Problem& p) { p.epilogue.beta = 2; }, "there is no addend");
  refuses([](Problem& p) { p.epilogue.residual = p.A + 8, p.epilogue.ld_residual = 8; },
          "the leading dimension of the residual is 8");
  refuses([](Problem& p) { p.scales.b = reinterpret_cast<const float*>(&p); },
          "scales of blocks belong to e4m3 and e5m2, and this is fp16");
  refuses([](Problem&) {}, "Tesla T4 has compute capability 7.5", T4);
  refuses([](Problem&) {}, "no kernel for NVIDIA H200: CMAKE_CUDA_ARCHITECTURES", OF_NO_BUILD);
  const auto floats = problem<Floats>(32, 32, 32);
  EXPECT_EQ(Way::SPLIT_K, plan_on(floats, B200, Type::FP32).way);
}

// On every GPU, by every table, at every size and in every layout; also where it was just asked for
// what is done first.
TEST(Library, TakesTheFixedTileWhereItIsAskedFor) {
  for (const Gpu& gpu : {H200, OTHER, Gpu{tuned::H100.name, 90, 114, true, true, true}})
    for (const Type type : {Type::FP16, Type::BF16})
      for (const int m : {1, 16, 300, 4096})
        for (const bool transposed_a : {false, true})
          for (const bool transposed_b : {false, true})
            for (const float alpha : {1.0f, 2.0f}) {
              Problem p = problem(m, 4096, 8192);
              p.lda = p.ldb = 8192, p.epilogue.alpha = alpha;
              p.transposed_a = transposed_a, p.transposed_b = transposed_b;
              plan_of(p, gpu, type);
              const Plan fixed = plan_on(p, gpu, type, Tiles::FIXED);
              EXPECT_EQ(Way::LINEAR, fixed.way);
              EXPECT_EQ("14 64x64 resident 2", tuned::name(fixed.tile->candidate));
              EXPECT_EQ(transposed_a, fixed.turned_a.has_value());
              EXPECT_FALSE(fixed.turned_b || fixed.pays_early);
              EXPECT_NE(fixed.tile, plan_of(p, gpu, type).tile);
              expect_has(in_words(fixed, p, type, gpu, ""),
                         "with the tiles of 14 64x64 resident 2: the fixed tile, which was asked "
                         "for\n");
            }
  EXPECT_EQ(Way::SWIZZLE, plan_on(problem(64, 64, 64), A100, Type::FP16, Tiles::FIXED).way);
  const auto floats = problem<Floats>(64, 64, 64);
  EXPECT_EQ(Way::FEW_ROWS, plan_on(floats, H200, Type::FP32, Tiles::FIXED).way);
}

// ---- Numbers that tensor cores read along K alone ----------------------------------------------

// Rows that begin on 16 bytes; B by columns.
template <class In, class Out>
Gemm<In, Out> along_k(int m, int n, int k) {
  Gemm<In, Out> p{};
  p.M = m, p.N = n, p.K = k, p.transposed_b = true;
  p.lda = p.ldb = (k + 15) / 16 * 16, p.ldc = (n + 15) / 16 * 16;
  return p;
}
template <class In, class Out>
std::string refusal_along_k(const Gemm<In, Out>& p, const GemmOptions& options = {},
                            const Gpu& gpu = H200) {
  try {
    plan_along_k(p, "e4m3 to bf16", gpu, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(LibraryAlongK, TakesWhatItsStageTakes) {
  const auto is_taken = [](const auto& p) {
    EXPECT_EQ("", refusal_along_k(p));
    const Plan plan = plan_along_k(p, "", H200, {});
    EXPECT_EQ(Way::ALONG_K, plan.way);
    EXPECT_EQ(0U, plan.workspace_bytes(1));
  };
  for (const int m : {1, 77, 333})
    for (const int n : {1, 16, 144, 515})
      for (const int k : {1, 16, 80, 207}) {
        is_taken(along_k<Byte, Half>(m, n, k));
        is_taken(along_k<int8_t, int32_t>(m, n, k));
        is_taken(along_k<int8_t, int8_t>(m, n, k));
        is_taken(along_k<Half, float>(m, n, k));
      }
  auto scaled = along_k<Byte, Half>(40, 300, 300);
  scaled.scales = {reinterpret_cast<float*>(64), 40, reinterpret_cast<float*>(64), 4};
  is_taken(scaled);
  auto of_8_bits = along_k<int8_t, int8_t>(40, 300, 300);
  of_8_bits.epilogue.alpha = 0.5f, of_8_bits.epilogue.zero_point = -128;
  of_8_bits.epilogue.column_scale = reinterpret_cast<float*>(64);
  is_taken(of_8_bits);
  EXPECT_EQ(Way::NOTHING, plan_along_k(along_k<Byte, Half>(0, 16, 16), "", H200, {}).way);
  EXPECT_EQ(Way::NOTHING, plan_along_k(along_k<Byte, Half>(16, 0, 16), "", H200, {}).way);
  EXPECT_EQ(Way::ZEROS, plan_along_k(along_k<Byte, Half>(16, 16, 0), "", H200, {}).way);
}

TEST(LibraryAlongK, RefusesByName) {
  using Bytes = Gemm<Byte, Half>;
  const auto refuses = [](auto change, const std::string& what, const GemmOptions& options = {},
                          const Gpu& gpu = H200) {
    Bytes bad = along_k<Byte, Half>(32, 32, 32);
    change(bad);
    EXPECT_EQ(what, refusal_along_k(bad, options, gpu));
  };
  const auto nothing = [](Bytes&) {};
  refuses(nothing, "");
  refuses([](Bytes& p) { p.M = -1; }, "M is -1, but must be from 0 to 2147482623");
  refuses([](Bytes& p) { p.lda = 31; }, "lda is 31, but a row has 32 elements");
  refuses([](Bytes& p) { p.lda = 40; }, "lda is 40, but this kernel needs a multiple of 16");
  refuses([](Bytes& p) { p.ldb = 40; }, "ldb is 40, but this kernel needs a multiple of 16");
  refuses([](Bytes& p) { p.ldc = 36; }, "ldc is 36, but this kernel needs a multiple of 8");
  refuses([](Bytes& p) { p.A = reinterpret_cast<Byte*>(8); },
          "the address of A is 8, but this kernel needs a multiple of 16");
  refuses([](Bytes& p) { p.C = reinterpret_cast<Half*>(4); },
          "the address of C is 4, but this kernel needs a multiple of 16");
  refuses([](Bytes& p) { p.transposed_b = false; },
          "B is K x N, but tensor cores read such numbers along K alone: this kernel needs it "
          "transposed, N x K");
  refuses([](Bytes& p) { p.transposed_a = true; },
          "A is transposed, K x M, but this kernel needs M x K");
  refuses([](Bytes& p) { p.epilogue.alpha = 2; },
          "this kernel has no epilogue: it computes A * B alone");
  refuses([](Bytes& p) { p.groups.count = 2; },
          "there are 2 groups, but this kernel computes one product alone");
  refuses([](Bytes& p) { p.scales.a = reinterpret_cast<float*>(64); },
          "this kernel needs the scales of A and of B");
  refuses(nothing, "fixed_tile is set, but there is none of e4m3 to bf16", {true});
  refuses(nothing, "transposed_c is set, but C of e4m3 to bf16 is by rows", {false, true});
  const auto strides = [](int64_t a, int64_t b, int64_t c) {
    return GemmOptions{false, false, {2, a, b, c}};
  };
  refuses(nothing, "", strides(16, 16, 40));
  refuses(nothing, "stride_a is 8, but this kernel needs a multiple of 16", strides(8, 16, 40));
  refuses(nothing, "stride_b is 8, but this kernel needs a multiple of 16", strides(16, 8, 40));
  refuses(nothing, "stride_c is 36, but this kernel needs a multiple of 8", strides(16, 16, 36));
  refuses(nothing, "", {false, false, {1, 1, 1, 1}});
  for (const Gpu& gpu : {A100, B200, OF_ANOTHER_BUILD, OF_NO_BUILD, T4})
    refuses(nothing,
            "e4m3 to bf16 needs wgmma (sm_90a), which " + gpu.name + " or this build does not have",
            {}, gpu);

  auto of_8_bits = along_k<int8_t, int8_t>(32, 32, 32);
  of_8_bits.epilogue.bias = reinterpret_cast<int8_t*>(64);
  EXPECT_EQ("this kernel's epilogue has alpha, column_scale and zero_point, and nothing else",
            refusal_along_k(of_8_bits));
  of_8_bits.epilogue = {}, of_8_bits.epilogue.zero_point = 128;
  EXPECT_EQ("the zero point is 128, but must be from -128 to 127", refusal_along_k(of_8_bits));
  auto of_32_bits = along_k<int8_t, int32_t>(32, 32, 32);
  of_32_bits.epilogue.zero_point = 1;
  EXPECT_EQ("this kernel has no epilogue: it computes A * B alone", refusal_along_k(of_32_bits));
  of_32_bits.epilogue = {}, of_32_bits.scales.b = reinterpret_cast<float*>(64);
  EXPECT_EQ("scales of blocks belong to e4m3 and e5m2, and this is e4m3 to bf16",
            refusal_along_k(of_32_bits));
}

// 19 takes any, and says what it does about it.
TEST(LibraryAlongK, TakesFloatsInAnyLayout) {
  for (const bool transposed_a : {false, true})
    for (const bool transposed_b : {false, true}) {
      Floats p = along_k<float, float>(32, 32, 32);
      p.transposed_a = transposed_a, p.transposed_b = transposed_b;
      EXPECT_EQ("", refusal_along_k(p));
      Plan plan = plan_along_k(p, "", H200, {});
      plan.way_bytes = 4096;
      const std::string text = along_k_in_words(plan, p, "fp32 as tf32", H200, "19 tf32");
      EXPECT_EQ(transposed_a, text.find("transposes A") != std::string::npos) << text;
      EXPECT_EQ(!transposed_b, text.find("transposes B") != std::string::npos) << text;
      expect_has(text, "stage 19 tf32\nworkspace: 4096 bytes\n");
    }
  Floats p = along_k<float, float>(32, 32, 32);
  p.lda = 34;
  EXPECT_EQ("lda is 34, but this kernel needs a multiple of 4", refusal_along_k(p));
}

TEST(LibraryAlongK, SaysWhichStage) {
  const auto words = [](const auto& p) {
    return along_k_in_words(plan_along_k(p, "", H200, {}), p, "e4m3 to bf16", H200,
                            "17 fp8, 128x128");
  };
  const std::string of = ", A by rows, B by columns, on NVIDIA H200\n";
  EXPECT_EQ("e4m3 to bf16, C of 3 x 5, K of 7" + of + "stage 17 fp8, 128x128\n",
            words(along_k<Byte, Half>(3, 5, 7)));
  EXPECT_EQ("e4m3 to bf16, C of 3 x 0, K of 7" + of + "nothing: C is empty\n",
            words(along_k<Byte, Half>(3, 0, 7)));
  EXPECT_EQ("e4m3 to bf16, C of 3 x 5, K of 0" + of + "zeros, for K is 0\n",
            words(along_k<Byte, Half>(3, 5, 0)));
  EXPECT_EQ("e4m3 to bf16, C of 3 x 5, K of 0" + of + "the zero point, for K is 0\n",
            words(along_k<int8_t, int8_t>(3, 5, 0)));
  auto scaled = along_k<Byte, Half>(3, 5, 7);
  scaled.scales = {reinterpret_cast<float*>(64), 4, reinterpret_cast<float*>(64), 4};
  expect_has(words(scaled), "B by columns, with scales of blocks, on");
}

TEST(Library, PlansTheLargest) {
  Problem p{};
  p.M = p.N = p.K = 100000;
  p.lda = p.ldb = p.ldc = int64_t{1} << 40;
  EXPECT_EQ(Way::PRODUCT, plan_of(p).way);
  p.lda += 1;
  EXPECT_EQ(uint64_t{100000} * 100032 * 2, plan_of(p).workspace_bytes(2));
}

}  // namespace
}  // namespace ladder::library
