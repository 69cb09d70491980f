// What the library asks of a GPU and launches there, call by call, of GPUs that are not here.
#include "fake_gpus.h"
// Behind it, for it takes the GPUs' place.
#include "library/gemm.cpp"

namespace ladder {
namespace {

class Calls : public testing::Test {
 protected:
  void SetUp() override { gpus = {}; }

  // Matrices one behind the other on GPU 0, all of which begin on 128 bytes.
  template <class T = half>
  static Gemm<T, T> problem(int m, int n, int k) {
    Gemm<T, T> p{};
    p.M = m, p.N = n, p.K = k;
    p.lda = (k + 7) / 8 * 8, p.ldb = p.ldc = (n + 7) / 8 * 8;
    p.A = at<T>(0), p.B = at<T>(1 << 16), p.C = at<T>(1 << 17);
    return p;
  }
  template <class T = half>
  static T* at(uintptr_t from, int gpu = 0) {
    return FakeGpus::memory<T>(gpu, from);
  }
  static std::string unpromised(const std::string& name, const void* address, int unit) {
    return "the address of " + name + " is " +
           std::to_string(reinterpret_cast<uintptr_t>(address)) +
           ", but the plan was promised a multiple of " + std::to_string(unit);
  }
  static std::string refusal(const std::function<void()>& call) {
    const size_t launched = gpus.launched.size();
    try {
      call();
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(launched, gpus.launched.size());
      EXPECT_EQ(std::string::npos, std::string(error.what()).find('\n'));
      return error.what();
    }
    return "";
  }
};

// ---- A plan that is kept -----------------------------------------------------------------------

TEST_F(Calls, APlanLaunchesWhatGemmDoes) {
  for (const int m : {1, 16, 100, 300})
    for (const bool transposed_a : {false, true})
      for (const bool transposed_b : {false, true})
        for (const bool has_bias : {false, true})
          for (const int more : {0, 1})
            for (const int gpu : {0, 1}) {
              gpus = {};
              gpus.current = gpu;
              auto p = problem(m, 200, 128);
              p.lda = 512 + more, p.ldb = 512, p.ldc = 512 + more;
              p.A = at(0, gpu), p.B = at(1000, gpu), p.C = at(2000, gpu);
              p.transposed_a = transposed_a, p.transposed_b = transposed_b;
              if (has_bias) p.epilogue.bias = at(3000, gpu);
              p.workspace = at(1 << 14, gpu), p.workspace_bytes = workspace_bytes(p);
              p.stream = reinterpret_cast<CUstream_st*>(64);
              gemm(p);
              const auto once = std::exchange(gpus.launched, {});
              auto unplaced = p;
              unplaced.A = nullptr, unplaced.B = nullptr, unplaced.C = nullptr;
              unplaced.stream = nullptr, unplaced.workspace = nullptr, unplaced.workspace_bytes = 0;
              const auto kept = plan(unplaced);
              EXPECT_EQ(p.workspace_bytes, kept.workspace_bytes());
              for (int i = 0; i < 3; ++i) {
                kept.run(p.A, p.B, p.C, p.stream, p.workspace);
                const auto again = std::exchange(gpus.launched, {});
                ASSERT_EQ(once.size(), again.size());
                for (size_t j = 0; j < once.size(); ++j) {
                  const auto &x = once[j], &y = again[j];
                  EXPECT_EQ(x.by + x.tile, y.by + y.tile);
                  EXPECT_EQ(std::tie(x.M, x.N, x.K, x.A, x.B, x.C, x.stream),
                            std::tie(y.M, y.N, y.K, y.A, y.B, y.C, y.stream));
                  EXPECT_EQ(std::tie(x.lda, x.ldb, x.ldc, x.transposed_a, x.transposed_b),
                            std::tie(y.lda, y.ldb, y.ldc, y.transposed_a, y.transposed_b));
                }
              }
            }
}

// To look up an address takes the host a microsecond or so.
TEST_F(Calls, APlanLooksAddressesUpOnce) {
  auto p = problem(64, 64, 64);
  p.epilogue.bias = at(3000);
  const auto kept = plan(p);
  EXPECT_EQ(4, gpus.looked_up);
  kept.run(p.A, p.B, p.C);
  kept.run(at(8), at(16), at(24), p.stream);
  EXPECT_EQ(4, gpus.looked_up);
  gemm(p);
  EXPECT_EQ(8, gpus.looked_up);
}

TEST_F(Calls, APlanRefusesWhatGemmDoes) {
  const auto refuses = [](auto change, const std::string& what) {
    auto p = problem(64, 64, 64);
    change(p);
    EXPECT_EQ(what, refusal([&] { plan(p); }));
  };
  using Half = Gemm<half, half>;
  static const half of_the_host[8] = {};
  refuses([](Half& p) { p.M = -1; }, "M is -1, but must be from 0 to 2147482623");
  refuses([](Half& p) { p.A = of_the_host; }, "A is in the host's memory, but has to be on GPU 0");
  refuses([](Half& p) { p.B = at(0, 1); }, "B is on GPU 1, but the current device is GPU 0");
  refuses([](Half& p) { p.epilogue.bias = of_the_host; },
          "the bias is in the host's memory, but has to be on GPU 0");
}

TEST_F(Calls, ARunRefusesWhatWasNotPromised) {
  const auto p = problem(64, 64, 64);
  const auto kept = plan(p);
  EXPECT_EQ("A is null, but has to be on GPU 0", refusal([&] { kept.run(nullptr, p.B, p.C); }));
  EXPECT_EQ("C is null, but has to be on GPU 0", refusal([&] { kept.run(p.A, p.B, nullptr); }));
  EXPECT_EQ(unpromised("B", p.B + 1, 16), refusal([&] { kept.run(p.A, p.B + 1, p.C); }));
  EXPECT_EQ(unpromised("C", p.C + 4, 16), refusal([&] { kept.run(p.A, p.B, p.C + 4); }));
  gpus.current = 1;
  EXPECT_EQ("the plan is for GPU 0, but the current device is GPU 1",
            refusal([&] { kept.run(p.A, p.B, p.C); }));
}

// Nobody is to find out at a later address that there is too little.
TEST_F(Calls, TheWorkspaceOfAPlanDependsOnWhatWasPromised) {
  auto p = problem(512, 512, 512);
  EXPECT_EQ(0U, plan(p).workspace_bytes());
  p.A = p.B = nullptr, p.C = nullptr;
  EXPECT_EQ(0U, plan(p).workspace_bytes());
  p.A = at(1);
  const auto kept = plan(p);
  EXPECT_EQ(512U * 512 * 2, kept.workspace_bytes());
  const half *const b = at(0), *const aligned = at(64);
  half *const c = at(1 << 16), *const workspace = at(1 << 17);
  EXPECT_EQ("the workspace has 0 bytes, but this problem needs 524288",
            refusal([&] { kept.run(aligned, b, c); }));
  EXPECT_EQ("the address of the workspace is " +
                std::to_string(reinterpret_cast<uintptr_t>(workspace + 1)) +
                ", but this kernel needs a multiple of 16",
            refusal([&] { kept.run(aligned, b, c, nullptr, workspace + 1); }));
  // Nothing was promised of A, so that any will do.
  for (const half* a : {aligned, aligned + 1, aligned + 4}) {
    gpus.launched.clear();
    kept.run(a, b, c, nullptr, workspace);
    ASSERT_EQ(2U, gpus.launched.size());
    EXPECT_EQ(a, gpus.launched[0].A);
    EXPECT_EQ(workspace, gpus.launched[1].A);
  }
  const half* const odd = reinterpret_cast<const half*>(reinterpret_cast<const char*>(aligned) + 1);
  EXPECT_EQ(unpromised("A", odd, 2), refusal([&] { kept.run(odd, b, c, nullptr, workspace); }));
}

// As in BLAS the addend is what C was; but somebody else's stays somebody else's.
TEST_F(Calls, AnAddendThatIsCIsTheCOfTheRun) {
  auto p = problem(64, 64, 64);
  p.epilogue.beta = 1, p.epilogue.addend = p.C, p.epilogue.ld_addend = p.ldc;
  p.epilogue.residual = at(5000), p.epilogue.ld_residual = p.ldc;
  const auto kept = plan(p);
  half* const c = at(4096);
  kept.run(p.A, p.B, c);
  EXPECT_EQ(c, gpus.launched.at(0).addend);
  EXPECT_EQ(at(5000), gpus.launched.at(0).residual);
}

// Which has parts of sums before they are finished.
TEST_F(Calls, WhatMayBeCIsCopiedWhere05cDividesK) {
  gpus.current = 1;  // where 05c alone is
  Gemm<float, float> p = problem<float>(64, 64, 64);
  p.A = at<float>(0, 1), p.B = at<float>(5000, 1), p.C = at<float>(10000, 1);
  p.epilogue.beta = 1, p.epilogue.addend = p.C, p.epilogue.ld_addend = p.ldc;
  p.workspace = at<float>(20000, 1), p.workspace_bytes = workspace_bytes(p);
  EXPECT_EQ(1024U + 64 * 64 * sizeof(float), p.workspace_bytes);
  gemm(p);
  ASSERT_EQ(2U, gpus.launched.size());
  EXPECT_EQ("copy", gpus.launched[0].by);
  EXPECT_EQ(p.C, gpus.launched[0].A);
  EXPECT_EQ("split_k", gpus.launched[1].by);
  EXPECT_EQ(gpus.launched[0].C, gpus.launched[1].addend);
  EXPECT_NE(p.C, gpus.launched[1].addend);
}

TEST_F(Calls, APlanOfNothingLooksAtNothing) {
  auto p = problem(0, 64, 64);
  p.A = nullptr, p.C = nullptr;
  plan(p).run(nullptr, nullptr, nullptr);
  EXPECT_TRUE(gpus.launched.empty());
  const auto zeros = plan(problem(5, 9, 0));
  zeros.run(nullptr, nullptr, at(0));
  EXPECT_EQ("zeros", gpus.launched.at(0).by);
}

TEST_F(Calls, APlanOutlivesItsProblemAndItsCopies) {
  auto p = std::make_unique<Gemm<float, float>>(problem<float>(64, 64, 64));
  auto kept = plan(*p);
  p.reset();
  const auto copy = kept;
  kept = plan(problem<float>(8, 8, 8));
  copy.run(at<float>(0), at<float>(64), at<float>(128));
  EXPECT_EQ(64, gpus.launched.at(0).M);
}

// ---- The choice that no table makes ------------------------------------------------------------

// By each of the functions, in every layout; A by columns is transposed first.
TEST_F(Calls, TheFixedTileIsTakenWhereItIsAskedFor) {
  const GemmOptions options{true};
  for (const bool transposed_a : {false, true}) {
    auto p = problem(128, 128, 128);
    p.transposed_a = transposed_a;
    const uint64_t bytes = workspace_bytes(p, options);
    EXPECT_EQ(transposed_a ? 128U * 128 * 2 : 0, bytes);
    p.workspace = at(1 << 18), p.workspace_bytes = bytes;
    gemm(p, options);
    const auto kept = plan(p, options);
    EXPECT_EQ(bytes, kept.workspace_bytes());
    kept.run(p.A, p.B, p.C, p.stream, p.workspace);
    const size_t launches = transposed_a ? 2 : 1;
    ASSERT_EQ(2 * launches, gpus.launched.size());
    for (const size_t i : {launches - 1, 2 * launches - 1}) {
      EXPECT_EQ("linear", gpus.launched[i].by);
      EXPECT_EQ("14 64x64 resident 2", gpus.launched[i].tile);
      EXPECT_FALSE(gpus.launched[i].transposed_a);
    }
    EXPECT_NE(std::string::npos, explain(p, options).find("the fixed tile")) << explain(p, options);
    EXPECT_EQ(std::string::npos, explain(p).find("the fixed tile"));
    gpus.launched.clear();
  }
}

// ---- C by columns ------------------------------------------------------------------------------

// C^T = B^T * A^T, by rows: what is launched is checked by its elements, in small.
TEST_F(Calls, CByColumnsIsItsTransposeByRows) {
  constexpr int M = 24, N = 40, K = 16;
  for (const bool transposed_a : {false, true})
    for (const bool transposed_b : {false, true})
      for (const bool is_planned : {false, true}) {
        gpus.launched.clear();
        auto p = problem(M, N, K);
        p.transposed_a = transposed_a, p.transposed_b = transposed_b;
        p.lda = 48, p.ldb = 56, p.ldc = 64, p.stream = reinterpret_cast<CUstream_st*>(64);
        p.epilogue.row_scale = at<float>(0), p.epilogue.column_scale = at<float>(1);
        p.epilogue.beta = 1, p.epilogue.addend = p.C, p.epilogue.ld_addend = 72;
        p.epilogue.residual = at(9000), p.epilogue.ld_residual = 80;
        const GemmOptions options{false, true};
        ASSERT_EQ(0U, workspace_bytes(p, options));
        if (is_planned)
          plan(p, options).run(p.A, p.B, p.C, p.stream);
        else
          gemm(p, options);
        ASSERT_EQ(1U, gpus.launched.size());
        const FakeGpus::Launched& q = gpus.launched[0];
        EXPECT_EQ(std::tuple(N, M, K, p.stream), std::tie(q.M, q.N, q.K, q.stream));
        // Of the launched product, element (row, column) of the operands.
        const auto element = [](const void* matrix, bool transposed, int64_t ld, int row,
                                int column) {
          return static_cast<const half*>(matrix) +
                 (transposed ? column * ld + row : row * ld + column);
        };
        for (const int m : {0, 1, M - 1})
          for (const int n : {0, 1, N - 1})
            for (const int k : {0, 1, K - 1}) {
              EXPECT_EQ(element(p.A, transposed_a, 48, m, k),
                        element(q.B, q.transposed_b, q.ldb, k, m));
              EXPECT_EQ(element(p.B, transposed_b, 56, k, n),
                        element(q.A, q.transposed_a, q.lda, n, k));
              EXPECT_EQ(element(p.C, true, 64, m, n), element(q.C, false, q.ldc, n, m));
            }
        EXPECT_EQ(p.epilogue.row_scale, q.column_scale);
        EXPECT_EQ(p.epilogue.column_scale, q.row_scale);
        EXPECT_EQ(p.C, q.addend);
        EXPECT_EQ(p.epilogue.residual, q.residual);
      }
}

// By the names that the caller has given.
TEST_F(Calls, CByColumnsIsRefusedByItsOwnNames) {
  using Half = Gemm<half, half>;
  const GemmOptions options{false, true};
  const auto refuses = [&](auto change, const std::string& what) {
    auto p = problem(64, 128, 256);
    change(p);
    EXPECT_EQ(what, refusal([&] { gemm(p, options); }));
    EXPECT_EQ(what, refusal([&] { plan(p, options); }));
    EXPECT_EQ("refused: " + what + "\n", explain(p, options));
    EXPECT_EQ(what, refusal([&] { workspace_bytes(p, options); }));
  };
  refuses([](Half& p) { p.M = -1; }, "M is -1, but must be from 0 to 2147482623");
  refuses([](Half& p) { p.lda = 3; }, "lda is 3, but a row has 256 elements");
  refuses([](Half& p) { p.transposed_b = true; }, "ldb is 128, but a row has 256 elements");
  refuses([](Half& p) { p.ldc = 63; }, "ldc is 63, but a column has 64 elements");
  refuses([](Half& p) { p.epilogue.residual = p.A, p.epilogue.ld_residual = 5; },
          "the leading dimension of the residual is 5, but a column has 64 elements");
  refuses([](Half& p) { p.epilogue.beta = 1, p.epilogue.addend = p.C, p.epilogue.ld_addend = 5; },
          "the leading dimension of the addend is 5, but a column has 64 elements");
  refuses([](Half& p) { p.epilogue.bias = p.A; },
          "there is a bias, which no kernel adds to a C by columns");
  auto p = problem(64, 128, 256);
  p.A = nullptr;
  EXPECT_EQ("A is null, but has to be on GPU 0", refusal([&] { gemm(p, options); }));
  const auto kept = plan(p, options);
  EXPECT_EQ("A is null, but has to be on GPU 0", refusal([&] { kept.run(nullptr, p.B, p.C); }));
  EXPECT_EQ(unpromised("B", p.B + 1, 16), refusal([&] { kept.run(at(0), p.B + 1, p.C); }));
}

TEST_F(Calls, SaysThatCIsByColumns) {
  const std::string text = explain(problem(64, 128, 256), GemmOptions{false, true});
  EXPECT_EQ(0U, text.find("C by columns, as the C^T = B^T * A^T by rows that follows: fp16, C of "
                          "128 x 64, K of 256, A by columns, B by columns"))
      << text;
}

// ---- Batches -----------------------------------------------------------------------------------

TEST_F(Calls, EachProductOfABatchHasItsMatrices) {
  for (const bool transposed_c : {false, true})
    for (const bool is_planned : {false, true}) {
      gpus.launched.clear();
      auto p = problem(24, 40, 16);
      p.ldc = 40, p.epilogue.row_scale = at<float>(0);
      p.epilogue.beta = 1, p.epilogue.addend = p.C, p.epilogue.ld_addend = 40;
      p.epilogue.residual = at(9000), p.epilogue.ld_residual = 40;
      const GemmOptions options{false, transposed_c, {3, 8, 0, 1600}};
      ASSERT_EQ(0U, workspace_bytes(p, options));
      half* const c = at(20000);
      if (is_planned)
        plan(p, options).run(p.A, p.B, c);
      else
        p.C = c, p.epilogue.addend = c, gemm(p, options);
      ASSERT_EQ(3U, gpus.launched.size());
      for (int i = 0; i < 3; ++i) {
        const FakeGpus::Launched& q = gpus.launched[i];
        EXPECT_EQ(p.A + 8 * i, transposed_c ? q.B : q.A);
        EXPECT_EQ(p.B, transposed_c ? q.A : q.B);
        EXPECT_EQ(c + 1600 * i, q.C);
        EXPECT_EQ(c + 1600 * i, q.addend);
        EXPECT_EQ(p.epilogue.residual + 1600 * i, q.residual);
        EXPECT_EQ(at<float>(0), transposed_c ? q.column_scale : q.row_scale);
      }
    }
}

// Also where the first of a batch begins on 16 bytes, and where it is not known yet.
TEST_F(Calls, ABatchCopiesWhatDoesNotAllBeginOn16Bytes) {
  auto p = problem(64, 64, 64);
  const auto bytes = [&](Batch batch) { return workspace_bytes(p, {false, false, batch}); };
  constexpr uint64_t ONE = 64 * 64 * 2;
  for (const bool is_known : {true, false}) {
    if (!is_known) p.A = p.B = nullptr, p.C = nullptr;
    EXPECT_EQ(0U, bytes({3, 8, 8, 4096}));
    EXPECT_EQ(0U, bytes({1, 1, 1, 1}));
    EXPECT_EQ(ONE, bytes({3, 8 * 7 + 4, 8, 4096}));
    EXPECT_EQ(ONE, bytes({3, 8, 1, 4096}));
    EXPECT_EQ(ONE, bytes({3, 8, 8, 4097}));
    EXPECT_EQ(3 * ONE, bytes({3, 2, 2, 4098}));
    EXPECT_EQ(3 * ONE, workspace_bytes(p, {false, true, {3, 2, 2, 4098}}));
  }
  p = problem(64, 64, 64);
  p.epilogue.beta = 1, p.epilogue.addend = at(5000 * 8), p.epilogue.ld_addend = 64;
  p.epilogue.residual = at(6000 * 8), p.epilogue.ld_residual = 64;
  EXPECT_EQ(3 * ONE, bytes({3, 8, 8, 4097}));  // C and the two
  p.workspace = at(1 << 18), p.workspace_bytes = 3 * ONE;
  gemm(p, {false, false, {2, 8, 8, 4097}});
  std::vector<const void*> copied;
  for (const auto& launched : gpus.launched)
    if (launched.by == "copy") copied.push_back(launched.A);
  const half* const in_workspace = at(1 << 18) + 2 * 4096;
  EXPECT_EQ((std::vector<const void*>{p.epilogue.addend, p.epilogue.residual, in_workspace,
                                      p.epilogue.addend + 4097, p.epilogue.residual + 4097,
                                      in_workspace}),
            copied);
}

TEST_F(Calls, ABatchIsRefusedByName) {
  const auto p = problem(64, 128, 64);
  const auto refuses = [&](Batch batch, const std::string& what, bool transposed_c = false) {
    const GemmOptions options{false, transposed_c, batch};
    EXPECT_EQ(what, refusal([&] { gemm(p, options); }));
    EXPECT_EQ(what, refusal([&] { plan(p, options); }));
    EXPECT_EQ("refused: " + what + "\n", explain(p, options));
  };
  refuses({-1, 8, 8, 8192}, "the batch's count is -1, but must not be negative");
  refuses({2, -8, 8, 8192}, "stride_a is -8, but must not be negative");
  refuses({2, 8, -8, 8192}, "stride_b is -8, but must not be negative");
  refuses({2, 8, 8, 127}, "stride_c is 127, but a row of C has 128 elements");
  auto by_columns = problem(64, 128, 64);
  EXPECT_EQ("stride_c is 63, but a column of C has 64 elements", refusal([&] {
              gemm(by_columns, {false, true, {2, 8, 8, 63}});
            }));
  EXPECT_EQ(
      0U, explain(p, {false, false, {64, 8, 8, 8192}}).find("a batch of 64: fp16, C of 64 x 128"));
}

// By 21, where its kernel takes the batch, one product has few tiles, and there are many.
TEST_F(Calls, ABatchThatLiesTogetherIsOneLaunch) {
  auto p = problem(64, 128, 192);
  const Batch together{65, 64 * 192, 192 * 128, 64 * 128};
  const GemmOptions options{false, false, together};
  EXPECT_EQ(0U, workspace_bytes(p, options));
  const auto kept = plan(p, options);
  p.stream = reinterpret_cast<CUstream_st*>(64);
  gemm(p, options), kept.run(p.A, p.B, p.C, p.stream);
  ASSERT_EQ(2U, gpus.launched.size());
  for (const FakeGpus::Launched& q : gpus.launched) {
    EXPECT_EQ("groups of 65", q.by);
    EXPECT_EQ(std::tuple(64, 128, 192, p.stream), std::tie(q.M, q.N, q.K, q.stream));
    EXPECT_EQ(std::tuple(p.A, p.B, p.C), std::tie(q.A, q.B, q.C));
  }
  const auto is_one_launch = [](const auto& problem, const GemmOptions& options) {
    const std::string text = explain(problem, options);
    return text.find("stage 21 grouped, of the whole batch") != std::string::npos &&
           text.find("by itself") == std::string::npos;
  };
  EXPECT_TRUE(is_one_launch(p, options));
  // K is divided where it is alone.
  const GemmOptions some{false, false, {65, 512 * 512, 512 * 512, 512 * 512}};
  EXPECT_TRUE(is_one_launch(problem(512, 512, 512), some));
  const auto many = problem(2048, 8, 8);  // as many rows as there can be, and more
  for (const int count : {1 << 19, 1 << 20})
    EXPECT_EQ(count == 1 << 19,
              is_one_launch(many, {false, false, {count, 2048 * 8, 8 * 8, 2048 * 8}}));
}

// Where 21 does not take it, in fewer launches than products all the same, with each its matrices.
TEST_F(Calls, ABatchThatLiesAnywhereIsALaunchForMany) {
  const auto expect_many = [](const auto& p, const GemmOptions& options) {
    gpus.launched.clear();
    gemm(p, options), plan(p, options).run(p.A, p.B, p.C, p.stream);
    const auto count = static_cast<size_t>(options.batch.count);
    ASSERT_EQ(2 * count, gpus.launched.size());
    for (size_t i = 0; i < 2 * count; ++i) {
      const FakeGpus::Launched& q = gpus.launched[i];
      const auto of = static_cast<int64_t>(i % count);
      EXPECT_EQ("batch of " + std::to_string(count), q.by);
      EXPECT_EQ(std::tuple(p.M, p.N, p.K, p.stream), std::tie(q.M, q.N, q.K, q.stream));
      EXPECT_EQ(std::tuple(p.lda, p.ldb, p.ldc), std::tie(q.lda, q.ldb, q.ldc));
      EXPECT_EQ(p.transposed_b, q.transposed_b);
      EXPECT_EQ(p.A + of * options.batch.stride_a, q.A);
      EXPECT_EQ(p.B + of * options.batch.stride_b, q.B);
      EXPECT_EQ(p.C + of * options.batch.stride_c, q.C);
    }
    const std::string text = explain(p, options);
    EXPECT_NE(std::string::npos, text.find("13's kernel for each 64 of the batch")) << text;
    EXPECT_EQ(std::string::npos, text.find("by itself")) << text;
  };
  const GemmOptions options{false, false, {70, 64 * 192, 192 * 128, 64 * 128}};
  auto p = problem(64, 128, 192);
  p.stream = reinterpret_cast<CUstream_st*>(64);
  for (int64_t Batch::*stride : {&Batch::stride_a, &Batch::stride_b, &Batch::stride_c}) {
    GemmOptions gap = options;
    gap.batch.*stride += 8;
    expect_many(p, gap);
  }
  GemmOptions other = options;
  other.batch.stride_b = 0;
  expect_many(p, other);
  other = options, other.batch.count = 64;
  expect_many(p, other);
  auto q = p;
  q.transposed_b = true, q.ldb = 192;
  expect_many(q, options);
  expect_many(problem<bf16>(64, 128, 192), options);
}

TEST_F(Calls, ABatchThatNoKernelHasIsALaunchForEach) {
  const auto is_each = [&](auto problem, GemmOptions options) {
    gpus.launched.clear();
    problem.workspace_bytes = workspace_bytes(problem, options), problem.workspace = at(1 << 18);
    gemm(problem, options);
    const std::string text = explain(problem, options);
    EXPECT_NE(std::string::npos, text.find("each product of the batch is launched by itself"));
    return gpus.launched.size() >= static_cast<size_t>(options.batch.count) &&
           gpus.launched[0].by.find(" of ") == std::string::npos;
  };
  const GemmOptions options{false, false, {64, 64 * 192, 192 * 128, 64 * 128}};
  const auto p = problem(64, 128, 192);
  GemmOptions other = options;
  other.fixed_tile = true;
  EXPECT_TRUE(is_each(p, other));
  other = options, other.transposed_c = true;
  auto q = p;
  q.ldc = 64, q.epilogue = {};
  EXPECT_TRUE(is_each(q, other));
  q = p, q.epilogue.alpha = 2;
  EXPECT_TRUE(is_each(q, options));
  q = p, q.transposed_a = true, q.lda = 64;
  EXPECT_TRUE(is_each(q, options));
  q = p, ++q.A;
  EXPECT_TRUE(is_each(q, options));
  auto large = problem(4096, 4096, 64);
  EXPECT_TRUE(is_each(large, {false, false, {2, 4096 * 64, 64 * 4096, 4096 * 4096}}));
  EXPECT_TRUE(is_each(problem<float>(64, 128, 192), options));
  gpus.current = 1;
  q = p, q.A = at(0, 1), q.B = at(0, 1), q.C = at(0, 1);
  EXPECT_TRUE(is_each(q, options));
}

// ---- Matrices anywhere -------------------------------------------------------------------------

template <class T>
std::vector<Matrices<T, T>> anywhere(int count) {
  std::vector<Matrices<T, T>> all;
  for (int i = 0; i < count; ++i) {
    const auto far = static_cast<uintptr_t>(i * 37 % 100 * 8);
    all.push_back({FakeGpus::memory<T>(0, far), FakeGpus::memory<T>(0, 1000 + 2 * far),
                   FakeGpus::memory<T>(0, 5000 + 3 * far)});
  }
  return all;
}
template <class T>
void expect_each_has_its_matrices(const Gemm<T, T>& p, const std::string& by, T* c_of_problem) {
  gpus.launched.clear();
  const auto all = anywhere<T>(5);
  auto* const stream = reinterpret_cast<CUstream_st*>(64);
  plan(p).run(all.data(), 5, stream);
  ASSERT_EQ(5U, gpus.launched.size()) << by;
  for (size_t i = 0; i < 5; ++i) {
    const FakeGpus::Launched& q = gpus.launched[i];
    EXPECT_EQ(by, q.by);
    EXPECT_EQ(std::tuple(p.M, p.N, p.K, stream), std::tie(q.M, q.N, q.K, q.stream));
    EXPECT_EQ(std::tuple(all[i].A, all[i].B, all[i].C), std::tie(q.A, q.B, q.C));
    if (c_of_problem != nullptr) {
      EXPECT_EQ(all[i].C, q.addend);
    }
  }
}
TEST_F(Calls, APlanRunsProductsWithMatricesAnywhere) {
  auto p = problem(64, 128, 192);
  expect_each_has_its_matrices<half>(p, "batch of 5", nullptr);
  expect_each_has_its_matrices<bf16>(problem<bf16>(64, 128, 192), "batch of 5", nullptr);
  expect_each_has_its_matrices<float>(problem<float>(64, 128, 192), "few_rows", nullptr);
  p.epilogue.beta = 1, p.epilogue.addend = p.C, p.epilogue.ld_addend = p.ldc;
  expect_each_has_its_matrices<half>(p, "linear", p.C);
  p = problem(64, 128, 192), p.ldc = 129;  // C is copied
  p.workspace = at(1 << 18), p.workspace_bytes = workspace_bytes(p);
  const auto all = anywhere<half>(3);
  gpus.launched.clear();
  plan(p).run(all.data(), 3, nullptr, p.workspace);
  ASSERT_EQ(6U, gpus.launched.size());
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(all[i].A, gpus.launched[2 * i].A);
}

TEST_F(Calls, ProductsAnywhereAreRefusedByName) {
  const auto p = problem(64, 128, 192);
  const auto kept = plan(p);
  auto all = anywhere<half>(3);
  EXPECT_EQ("the count is -1, but must not be negative",
            refusal([&] { kept.run(all.data(), -1); }));
  EXPECT_EQ("the array of matrices is null", refusal([&] { kept.run(nullptr, 3); }));
  all[2].B = nullptr;
  EXPECT_EQ("B of product 2 is null, but has to be on GPU 0",
            refusal([&] { kept.run(all.data(), 3); }));
  all[2].B = all[0].B, ++all[1].C;
  EXPECT_EQ(unpromised("C of product 1", all[1].C, 16), refusal([&] { kept.run(all.data(), 3); }));
  EXPECT_EQ("the plan is of a batch of 2, and not of one product", refusal([&] {
              plan(p, {false, false, {2, 8, 8, 8192}}).run(all.data(), 3);
            }));
  gpus.launched.clear();
  kept.run(nullptr, 0);
  plan(problem(0, 128, 192)).run(all.data(), 3);
  EXPECT_TRUE(gpus.launched.empty());
}

TEST_F(Calls, AnEmptyBatchIsNothing) {
  auto p = problem(64, 64, 64);
  p.A = nullptr;
  const GemmOptions options{false, false, {0, 0, 0, 0}};
  gemm(p, options);
  plan(p, options).run(nullptr, nullptr, nullptr);
  EXPECT_TRUE(gpus.launched.empty());
}

// ---- Numbers that tensor cores read along K alone ----------------------------------------------

template <class In, class Out>
Gemm<In, Out> along_k(int m = 64, int n = 128, int k = 256) {
  Gemm<In, Out> p{};
  p.M = m, p.N = n, p.K = k, p.transposed_b = true;
  p.lda = p.ldb = k, p.ldc = n;
  p.A = FakeGpus::memory<In>(0, 0), p.B = FakeGpus::memory<In>(0, 1 << 16);
  p.C = FakeGpus::memory<Out>(0, 1 << 17), p.stream = reinterpret_cast<CUstream_st*>(64);
  return p;
}

// By the call and by a plan, in one launch, or one for each of a batch.
template <class In, class Out>
void expect_launches(const Gemm<In, Out>& p, const GemmOptions& options, const std::string& type) {
  GemmOptions batch = options;
  batch.batch = {3, 16, 0, 8192};
  for (const GemmOptions& now : {options, batch})
    for (const bool is_planned : {false, true}) {
      gpus = {};
      if (is_planned)
        plan(p, now).run(p.A, p.B, p.C, p.stream, p.workspace);
      else
        gemm(p, now);
      ASSERT_EQ(static_cast<size_t>(now.batch.count), gpus.launched.size()) << type;
      for (int i = 0; i < now.batch.count; ++i) {
        const FakeGpus::Launched& q = gpus.launched[static_cast<size_t>(i)];
        EXPECT_EQ("along_k", q.by) << type;
        EXPECT_EQ(std::tuple(p.M, p.N, p.K, p.stream), std::tie(q.M, q.N, q.K, q.stream));
        EXPECT_EQ(std::tuple(p.lda, p.ldb, p.ldc), std::tie(q.lda, q.ldb, q.ldc));
        EXPECT_EQ(std::pair(p.transposed_a, p.transposed_b),
                  std::pair(q.transposed_a, q.transposed_b));
        EXPECT_EQ(p.A + i * now.batch.stride_a, q.A);
        EXPECT_EQ(p.B, q.B);
        EXPECT_EQ(p.C + i * now.batch.stride_c, q.C);
        EXPECT_EQ(now.fp32_sums, q.fp32_sums);
      }
    }
  EXPECT_EQ(options.fp32_sums, explain(p, options).find("stage 17b") != std::string::npos);
  EXPECT_EQ(0U, explain(p, options).find(type + ", C of 64 x 128, K of 256, A by rows, B by "))
      << explain(p, options);
  EXPECT_EQ(0U, explain(p, batch).find("a batch of 3: " + type));
}
TEST_F(Calls, NumbersAlongKGoToTheirStage) {
  const GemmOptions as_tf32{false, false, {}, true}, fp32_sums{false, false, {}, false, true};
  expect_launches(along_k<e4m3, bf16>(), {}, "e4m3 to bf16");
  expect_launches(along_k<e4m3, bf16>(), fp32_sums, "e4m3 to bf16");
  auto factors = along_k<e4m3, bf16>();
  factors.epilogue.alpha = 2, factors.epilogue.row_scale = at<float>(1 << 17);
  factors.epilogue.column_scale = at<float>(1 << 17), factors.epilogue.bias = at<bf16>(1 << 17);
  expect_launches(factors, {}, "e4m3 to bf16");
  expect_launches(along_k<e5m2, bf16>(), {}, "e5m2 to bf16");
  expect_launches(along_k<int8_t, int32_t>(), {}, "int8 to int32");
  expect_launches(along_k<int8_t, int8_t>(), {}, "int8 to int8");
  expect_launches(along_k<half, float>(), {}, "fp16 to fp32");
  expect_launches(along_k<bf16, float>(), {}, "bf16 to fp32");
  expect_launches(along_k<half, e4m3>(), {}, "fp16 to e4m3");
  expect_launches(along_k<bf16, e4m3>(), {}, "bf16 to e4m3");
  auto floats = along_k<float, float>();
  expect_launches(floats, as_tf32, "fp32 as tf32");
  EXPECT_EQ(0U, workspace_bytes(floats, as_tf32));
  floats.transposed_b = false, floats.ldb = 128;
  EXPECT_EQ(4096U, workspace_bytes(floats, as_tf32));
  EXPECT_EQ(4096U, plan(floats, as_tf32).workspace_bytes());
  EXPECT_EQ("the workspace has 0 bytes, but this problem needs 4096",
            refusal([&] { gemm(floats, as_tf32); }));
  floats.workspace = at(1 << 18), floats.workspace_bytes = 4096;
  expect_launches(floats, as_tf32, "fp32 as tf32");
  gpus = {};
  gemm(floats);
  EXPECT_EQ("few_rows", gpus.launched.back().by);
}

TEST_F(Calls, EmptyProductsAlongKAreNothing) {
  gemm(along_k<e4m3, bf16>(0)), gemm(along_k<int8_t, int8_t>(64, 0));
  gemm(along_k<int8_t, int32_t>(), {false, false, {0, 0, 0, 0}});
  EXPECT_TRUE(gpus.launched.empty());
  auto zeros = along_k<e4m3, bf16>(64, 128, 0);
  zeros.A = zeros.B = nullptr;
  EXPECT_EQ(0U, workspace_bytes(zeros));
  gemm(zeros);  // the stage writes them
  EXPECT_EQ("along_k", gpus.launched.at(0).by);
  auto floats = along_k<float, float>(64, 128, 0);
  floats.transposed_b = false, floats.ldb = 128;
  EXPECT_EQ(0U, workspace_bytes(floats, {false, false, {}, true}));
}

TEST_F(Calls, NumbersAlongKAreRefusedByName) {
  const auto refuses = [](const auto& p, const std::string& what, const GemmOptions& options = {}) {
    EXPECT_EQ(what, refusal([&] { gemm(p, options); }));
    EXPECT_EQ(what, refusal([&] { plan(p, options); }));
  };
  auto p = along_k<e4m3, bf16>();
  p.lda = 264;
  const std::string what = "lda is 264, but this kernel needs a multiple of 16";
  refuses(p, what);
  EXPECT_EQ(what, refusal([&] { workspace_bytes(p); }));
  EXPECT_EQ("refused: " + what + "\n", explain(p));
  p = along_k<e4m3, bf16>(), p.B = at<e4m3>(0, 1);
  refuses(p, "B is on GPU 1, but the current device is GPU 0");
  p = along_k<e4m3, bf16>(), p.A = nullptr;
  EXPECT_EQ("A is null, but has to be on GPU 0", refusal([&] { gemm(p); }));
  alignas(16) static const float of_the_host[4] = {};
  p = along_k<e4m3, bf16>(), p.scales = {of_the_host, 64, at<float>(0), 4};
  refuses(p, "scales.a is in the host's memory, but has to be on GPU 0");
  p.scales = {at<float>(0), 64, of_the_host, 4};
  refuses(p, "scales.b is in the host's memory, but has to be on GPU 0");
  p.scales.b = nullptr;
  refuses(p, "this kernel needs the scales of A and of B");
  auto integers = along_k<int8_t, int8_t>();
  integers.epilogue.column_scale = of_the_host;
  refuses(integers, "column_scale is in the host's memory, but has to be on GPU 0");
  auto floats = along_k<float, float>();
  floats.epilogue.alpha = 2;
  refuses(floats, "this kernel has no epilogue: it computes A * B alone", {false, false, {}, true});
  refuses(problem(64, 64, 64), "tf32 is set, but belongs to fp32, and this is fp16",
          {false, false, {}, true});
  refuses(along_k<int8_t, int32_t>(), "tf32 is set, but belongs to fp32, and this is int8 to int32",
          {false, false, {}, true});
  const GemmOptions fp32_sums{false, false, {}, false, true};
  refuses(problem(64, 64, 64), "fp32_sums is set, but belongs to e4m3, and this is fp16",
          fp32_sums);
  refuses(along_k<e5m2, bf16>(), "fp32_sums is set, but belongs to e4m3, and this is e5m2 to bf16",
          fp32_sums);
  auto odd = along_k<e4m3, bf16>(64, 127);
  odd.ldc = 128;
  refuses(odd, "N is 127, but this kernel needs a multiple of 2", fp32_sums);
  EXPECT_NE(std::string::npos,
            explain(along_k<e4m3, bf16>(64, 128, 0), fp32_sums).find("zeros, for K is 0"));
  refuses(along_k<int8_t, int32_t>(), "the batch's count is -1, but must not be negative",
          {false, false, {-1, 0, 0, 0}});
  refuses(along_k<int8_t, int32_t>(), "stride_a is 8, but this kernel needs a multiple of 16",
          {false, false, {2, 8, 0, 8192}});
  refuses(along_k<int8_t, int32_t>(), "transposed_c is set, but C of int8 to int32 is by rows",
          {false, true});
  auto halves = along_k<half, float>();
  halves.transposed_b = false, halves.ldb = 128;
  refuses(halves, "fp16 to fp32 needs A by rows, M x K, and B by columns, N x K");
  auto factors = along_k<e4m3, bf16>();
  factors.epilogue.activation = Activation::RELU;
  refuses(factors,
          "this kernel's epilogue has alpha, row_scale, column_scale and bias, and nothing else");
  factors = along_k<e4m3, bf16>(64, 127), factors.ldc = 128, factors.epilogue.alpha = 2;
  refuses(factors, "N is 127, but this kernel needs a multiple of 2");
  factors = along_k<e4m3, bf16>(64, 128, 0), factors.epilogue.alpha = 2;
  refuses(factors, "K is 0, but must be from 1 to 2147482623");
  factors = along_k<e4m3, bf16>(), factors.epilogue.row_scale = of_the_host;
  refuses(factors, "row_scale is in the host's memory, but has to be on GPU 0");
  auto of_e5m2 = along_k<e5m2, bf16>();
  of_e5m2.epilogue.alpha = 2;
  refuses(of_e5m2, "this kernel has no epilogue: it computes A * B alone");
  auto to_fp8 = along_k<bf16, e4m3>();
  to_fp8.epilogue.activation = Activation::RELU;
  refuses(to_fp8, "this kernel's epilogue has alpha and column_scale, and nothing else");
  to_fp8 = along_k<bf16, e4m3>(), to_fp8.epilogue.zero_point = 1;
  refuses(to_fp8, "this kernel's epilogue has alpha and column_scale, and nothing else");
  to_fp8 = along_k<bf16, e4m3>(), to_fp8.epilogue.column_scale = of_the_host;
  refuses(to_fp8, "column_scale is in the host's memory, but has to be on GPU 0");
  const auto kept = plan(along_k<e4m3, bf16>());
  const auto good = along_k<e4m3, bf16>();
  EXPECT_EQ(unpromised("A", good.A + 1, 16),
            refusal([&] { kept.run(good.A + 1, good.B, good.C); }));
  EXPECT_EQ(unpromised("C", good.C + 1, 16),
            refusal([&] { kept.run(good.A, good.B, good.C + 1); }));
  gpus.current = 1;
  const std::string no_wgmma =
      " needs wgmma (sm_90a), which NVIDIA A100 or this build does not "
      "have";
  refuses(along_k<e5m2, bf16>(), "e5m2 to bf16" + no_wgmma);
  refuses(along_k<float, float>(), "fp32 as tf32" + no_wgmma, {false, false, {}, true});
}

// ---- LADDER_LOG --------------------------------------------------------------------------------

// In a process of its own, for the variable is read once.
[[noreturn]] void log_and_exit(const char* value, const std::string& expected) {
  setenv("LADDER_LOG", value, 1);
  Gemm<half, half> p{};
  p.M = p.N = p.K = 64, p.lda = p.ldb = p.ldc = 64;
  p.A = FakeGpus::memory<half>(0, 0), p.B = p.A + 4096, p.C = FakeGpus::memory<half>(0, 8192);
  testing::internal::CaptureStderr();
  workspace_bytes(p), explain(p);
  for (int i = 0; i < 3; ++i) gemm(p), plan(p);
  p.A += 64, p.stream = reinterpret_cast<CUstream_st*>(64);
  gemm(p);
  p.M = 32;
  plan(p), gemm(p);
  gemm(p, GemmOptions{true}), gemm(p, GemmOptions{true});
  gemm(p, GemmOptions{false, true}), plan(p, GemmOptions{false, true});
  auto q = along_k<e4m3, bf16>();
  gemm(q), gemm(q);
  q.scales = {FakeGpus::memory<float>(0, 0), 64, FakeGpus::memory<float>(0, 0), 4};
  gemm(q);
  const auto floats = along_k<float, float>(64, 64, 0);  // neither has a workspace
  for (int i = 0; i < 2; ++i) plan(floats), plan(floats, {false, false, {}, true});
  p.lda = 63;
  EXPECT_THROW(gemm(p), std::invalid_argument);
  const std::string said = testing::internal::GetCapturedStderr();
  std::fputs(said.c_str(), stderr);
  std::exit(said == expected ? 0 : 1);
}
TEST_F(Calls, LogsEachPlanOnceWhereItIsAskedTo) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto p = problem(64, 64, 64);
  std::string expected = "ladder: " + explain(p);
  p.M = 32;
  expected += "ladder: " + explain(p) + "ladder: " + explain(p, GemmOptions{true}) +
              "ladder: " + explain(p, GemmOptions{false, true});
  auto q = along_k<e4m3, bf16>();
  expected += "ladder: " + explain(q);
  q.scales = {FakeGpus::memory<float>(0, 0), 64, FakeGpus::memory<float>(0, 0), 4};
  const auto floats = along_k<float, float>(64, 64, 0);
  expected += "ladder: " + explain(q) + "ladder: " + explain(floats) +
              "ladder: " + explain(floats, {false, false, {}, true});
  EXPECT_EXIT(log_and_exit("1", expected), testing::ExitedWithCode(0), "");
  for (const char* value : {"", "0"})
    EXPECT_EXIT(log_and_exit(value, ""), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ladder
