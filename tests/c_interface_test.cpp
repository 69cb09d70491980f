// The C interface: what it hands to the library, and what comes back of what goes wrong. It shares
// its program, and its GPUs, with library_calls_test.cpp.
#include <cstring>

#include "fake_gpus.h"
#include "gemm.h"
#include "ladder.h"

namespace ladder {
namespace {

class CInterface : public testing::Test {
 protected:
  void SetUp() override { gpus = {}; }

  static ladder_problem problem(int type = LADDER_FP16) {
    ladder_problem p;
    std::memset(&p, 0xAB, sizeof p);
    ladder_problem_init(&p);
    p.type = type, p.M = 64, p.N = 128, p.K = 256;
    p.A = at(0), p.lda = 256, p.B = at(65536), p.ldb = 128, p.C = at(131072), p.ldc = 128;
    return p;
  }
  static half* at(uintptr_t from, int gpu = 0) { return FakeGpus::memory<half>(gpu, from); }
  static Gemm<half, half> halves(const ladder_problem& p) {
    Gemm<half, half> q{};
    q.M = p.M, q.N = p.N, q.K = p.K;
    q.A = at(0), q.lda = p.lda, q.B = at(65536), q.ldb = p.ldb, q.C = at(131072), q.ldc = p.ldc;
    return q;
  }
  static void expect_refused(ladder_status status, const std::string& why) {
    EXPECT_EQ(LADDER_INVALID_ARGUMENT, status);
    EXPECT_EQ(why, ladder_last_error());
    EXPECT_TRUE(gpus.launched.empty());
  }
};

// Every field, by what the library would say or do with a field that went astray.
TEST_F(CInterface, HandsOverEveryField) {
  ladder_problem p = problem();
  p.M = 100, p.transposed_a = 1, p.lda = 104, p.transposed_b = 5, p.ldb = 264, p.ldc = 136;
  p.stream = at(1);
  p.alpha = 2, p.beta = 3, p.addend = at(1000), p.ld_addend = 136;
  p.residual = at(2000), p.ld_residual = 136;
  ASSERT_EQ(LADDER_OK, ladder_gemm(&p)) << ladder_last_error();
  ASSERT_EQ(1U, gpus.launched.size());
  const FakeGpus::Launched launched = gpus.launched[0];
  EXPECT_EQ("a_by_columns", launched.by);
  EXPECT_EQ(std::tuple(100, 128, 256), std::tie(launched.M, launched.N, launched.K));
  EXPECT_EQ(p.A, launched.A);
  EXPECT_EQ(p.B, launched.B);
  EXPECT_EQ(p.C, launched.C);
  EXPECT_EQ(p.addend, launched.addend);
  EXPECT_EQ(p.residual, launched.residual);
  EXPECT_EQ(std::tuple(104, 264, 136), std::tie(launched.lda, launched.ldb, launched.ldc));
  EXPECT_TRUE(launched.transposed_a && launched.transposed_b);
  EXPECT_EQ(p.stream, launched.stream);

  // The rest, by what is refused.
  const auto host = [](auto change) {
    ladder_problem p = problem();
    change(p);
    EXPECT_EQ(LADDER_INVALID_ARGUMENT, ladder_gemm(&p));
    return std::string(ladder_last_error());
  };
  static const float of_the_host[4] = {};
  const std::string where = " is in the host's memory, but has to be on GPU 0";
  EXPECT_EQ("row_scale" + where, host([](auto& p) { p.row_scale = of_the_host; }));
  EXPECT_EQ("column_scale" + where, host([](auto& p) { p.column_scale = of_the_host; }));
  EXPECT_EQ("the bias" + where, host([](auto& p) { p.bias = of_the_host; }));
  EXPECT_EQ("the leading dimension of the addend is 7, but a row has 128 elements",
            host([](auto& p) { p.beta = 1, p.addend = of_the_host, p.ld_addend = 7; }));
  EXPECT_EQ("the leading dimension of the residual is 7, but a row has 128 elements",
            host([](auto& p) { p.residual = of_the_host, p.ld_residual = 7; }));
  EXPECT_EQ("the workspace has 3 bytes, but this problem needs 32768",
            host([](auto& p) { p.A = at(1), p.workspace = at(0), p.workspace_bytes = 3; }));
  p = problem();
  p.fixed_tile = 1;
  EXPECT_EQ(LADDER_OK, ladder_gemm(&p));
  EXPECT_EQ("14 64x64 resident 2", gpus.launched.back().tile);
  p = problem();
  p.transposed_c = 1;
  EXPECT_EQ(LADDER_OK, ladder_gemm(&p));
  EXPECT_EQ(p.A, gpus.launched.back().B);
  p = problem();
  gpus.launched.clear();
  p.batch_count = 2, p.stride_a = 64, p.stride_b = 128, p.stride_c = 256;
  EXPECT_EQ(LADDER_OK, ladder_gemm(&p));
  ASSERT_EQ(2U, gpus.launched.size());
  EXPECT_EQ(std::tuple(at(64), at(65536 + 128), at(131072 + 256)),
            std::tie(gpus.launched[1].A, gpus.launched[1].B, gpus.launched[1].C));
  for (const int early : {0, 1}) {
    p = problem();  // which pays to start early
    p.M = p.N = p.K = 1000, p.lda = p.ldb = p.ldc = 1000, p.starts_early = early;
    EXPECT_EQ(LADDER_OK, ladder_gemm(&p));
    EXPECT_EQ(early != 0, gpus.launched.back().starts_early);
  }
  p = problem();
  p.activation = LADDER_SILU;
  EXPECT_EQ(LADDER_OK, ladder_gemm(&p));
  EXPECT_NE("product", gpus.launched.back().by);
  EXPECT_EQ(static_cast<int>(Activation::GELU_ERF), LADDER_GELU_ERF);
  EXPECT_EQ(static_cast<int>(Activation::GELU), LADDER_GELU);
  EXPECT_EQ(static_cast<int>(Activation::RELU), LADDER_RELU);
  EXPECT_EQ(static_cast<int>(Activation::NONE), LADDER_NONE);
}

TEST_F(CInterface, MultipliesEachType) {
  for (const auto& [type, name] :
       {std::pair{LADDER_FP16, "fp16,"}, {LADDER_BF16, "bf16,"}, {LADDER_FP32, "fp32,"}}) {
    const ladder_problem p = problem(type);
    char text[4096];
    ASSERT_EQ(LADDER_OK, ladder_explain(&p, text, sizeof text));
    EXPECT_EQ(0, std::strncmp(name, text, 5)) << text;
    EXPECT_EQ(LADDER_OK, ladder_gemm(&p)) << ladder_last_error();
  }
  EXPECT_EQ("few_rows", gpus.launched.back().by);
}

TEST_F(CInterface, MultipliesNumbersAlongK) {
  static const float of_the_host[4] = {};
  const auto of = [](int type) {
    ladder_problem p = problem(type);
    p.transposed_b = 1, p.ldb = 256;
    return p;
  };
  const auto refusal = [](const ladder_problem& p) {
    EXPECT_EQ(LADDER_INVALID_ARGUMENT, ladder_gemm(&p));
    return std::string(ladder_last_error());
  };
  for (const auto& [type, name] : {std::pair{LADDER_E4M3_BF16, "e4m3 to bf16,"},
                                   {LADDER_E5M2_BF16, "e5m2 to bf16,"},
                                   {LADDER_INT8_INT32, "int8 to int32,"},
                                   {LADDER_INT8_INT8, "int8 to int8,"},
                                   {LADDER_FP16_FP32, "fp16 to fp32,"},
                                   {LADDER_BF16_FP32, "bf16 to fp32,"},
                                   {LADDER_FP16_E4M3, "fp16 to e4m3,"},
                                   {LADDER_BF16_E4M3, "bf16 to e4m3,"},
                                   {LADDER_FP32, "fp32 as tf32,"}}) {
    gpus = {};
    ladder_problem p = of(type);
    p.tf32 = type == LADDER_FP32;
    p.fp32_sums = type == LADDER_E4M3_BF16;
    char text[4096];
    ASSERT_EQ(LADDER_OK, ladder_explain(&p, text, sizeof text));
    EXPECT_EQ(0, std::strncmp(name, text, std::strlen(name))) << text;
    EXPECT_EQ(LADDER_OK, ladder_gemm(&p)) << ladder_last_error();
    ladder_plan* plan = nullptr;
    ASSERT_EQ(LADDER_OK, ladder_plan_create(&p, &plan)) << ladder_last_error();
    EXPECT_EQ(LADDER_OK, ladder_plan_run(plan, p.A, p.B, p.C, p.stream, nullptr));
    ladder_plan_destroy(plan);
    ASSERT_EQ(2U, gpus.launched.size());
    for (const auto& launched : gpus.launched) {
      EXPECT_EQ("along_k", launched.by);
      EXPECT_EQ(p.fp32_sums != 0, launched.fp32_sums);
      EXPECT_EQ(std::tuple(p.A, p.B, p.C), std::tie(launched.A, launched.B, launched.C));
    }
  }
  ladder_problem p = of(LADDER_INT8_INT8);
  p.zero_point = 129;
  EXPECT_EQ("the zero point is 129, but must be from -128 to 127", refusal(p));
  p = of(LADDER_E4M3_BF16);
  p.scales_a = of_the_host, p.ld_scales_a = 64;
  EXPECT_EQ("this kernel needs the scales of A and of B", refusal(p));
  p.scales_a = reinterpret_cast<float*>(at(0));
  p.scales_b = reinterpret_cast<float*>(at(1)), p.ld_scales_b = 4;
  EXPECT_NE(std::string::npos, refusal(p).find("the address of B's scales is "));
  p.scales_b = p.scales_a, p.ld_scales_b = 1;
  EXPECT_EQ("the leading dimension of B's scales is 1, but a row of them has 2", refusal(p));
  p.ld_scales_a = 63;
  EXPECT_EQ("the leading dimension of A's scales is 63, but a row of them has 64", refusal(p));
}

TEST_F(CInterface, RunsProductsWithMatricesAnywhere) {
  const ladder_problem p = problem();
  ladder_plan* plan = nullptr;
  ASSERT_EQ(LADDER_OK, ladder_plan_create(&p, &plan));
  ladder_matrices all[] = {{p.A, p.B, p.C}, {at(8), at(65544), at(200000)}};
  EXPECT_EQ(LADDER_OK, ladder_plan_run_all(plan, all, 2, at(1), nullptr)) << ladder_last_error();
  ASSERT_EQ(2U, gpus.launched.size());
  for (size_t i = 0; i < 2; ++i) {
    const FakeGpus::Launched& q = gpus.launched[i];
    EXPECT_EQ("batch of 2", q.by);
    EXPECT_EQ(std::tuple(all[i].A, all[i].B, all[i].C), std::tie(q.A, q.B, q.C));
    EXPECT_EQ(static_cast<void*>(at(1)), q.stream);
  }
  EXPECT_EQ(LADDER_OK, ladder_plan_run_all(plan, nullptr, 0, nullptr, nullptr));
  gpus.launched.clear();
  expect_refused(ladder_plan_run_all(plan, nullptr, 2, nullptr, nullptr), "all is null");
  expect_refused(ladder_plan_run_all(nullptr, all, 2, nullptr, nullptr), "plan is null");
  all[1].A = nullptr;
  expect_refused(ladder_plan_run_all(plan, all, 2, nullptr, nullptr),
                 "A of product 1 is null, but has to be on GPU 0");
  ladder_plan_destroy(plan);
}

TEST_F(CInterface, ExplainsInAsManyCharactersAsThereAre) {
  const ladder_problem p = problem();
  const std::string whole = explain(halves(p));
  char text[4096];
  EXPECT_EQ(LADDER_OK, ladder_explain(&p, text, sizeof text));
  EXPECT_EQ(whole, text);
  char few[10];
  std::memset(few, 'x', sizeof few);
  EXPECT_EQ(LADDER_OK, ladder_explain(&p, few, 8));
  EXPECT_EQ(whole.substr(0, 7), few);
  EXPECT_EQ('x', few[8]);
  expect_refused(ladder_explain(&p, few, 0), "size is 0, but a text ends with a zero");
}

TEST_F(CInterface, KeepsPlans) {
  ladder_problem p = problem();
  p.A = nullptr, p.C = nullptr, p.B = at(1);
  uint64_t bytes = 0, of_plan = 1;
  EXPECT_EQ(LADDER_OK, ladder_workspace_bytes(&p, &bytes));
  EXPECT_EQ(256U * 128 * 2, bytes);
  ladder_plan* plan = nullptr;
  ASSERT_EQ(LADDER_OK, ladder_plan_create(&p, &plan)) << ladder_last_error();
  EXPECT_EQ(LADDER_OK, ladder_plan_workspace_bytes(plan, &of_plan));
  EXPECT_EQ(bytes, of_plan);
  expect_refused(ladder_plan_run(plan, at(0), at(9), nullptr, nullptr, at(128)),
                 "C is null, but has to be on GPU 0");
  EXPECT_EQ(LADDER_OK, ladder_plan_run(plan, at(0), at(9), at(1024), at(8), at(65536)));
  EXPECT_STREQ("", ladder_last_error());
  ASSERT_EQ(2U, gpus.launched.size());
  const FakeGpus::Launched &copy = gpus.launched[0], &product = gpus.launched[1];
  EXPECT_EQ(at(9), copy.A);
  EXPECT_EQ(at(0), product.A);
  EXPECT_EQ(at(65536), product.B);
  EXPECT_EQ(at(1024), product.C);
  EXPECT_EQ(static_cast<void*>(at(8)), product.stream);
  ladder_plan_destroy(plan);
  ladder_plan_destroy(nullptr);
}

TEST_F(CInterface, RefusesInALine) {
  ladder_problem p = problem();
  uint64_t bytes = 0;
  char text[64];
  expect_refused(ladder_gemm(nullptr), "problem is null");
  expect_refused(ladder_workspace_bytes(&p, nullptr), "bytes is null");
  expect_refused(ladder_workspace_bytes(nullptr, &bytes), "problem is null");
  expect_refused(ladder_explain(&p, nullptr, 64), "text is null");
  expect_refused(ladder_explain(nullptr, text, 64), "problem is null");
  expect_refused(ladder_plan_create(&p, nullptr), "plan is null");
  expect_refused(ladder_plan_run(nullptr, at(0), at(0), at(0), nullptr, nullptr), "plan is null");
  expect_refused(ladder_plan_workspace_bytes(nullptr, &bytes), "plan is null");
  p.type = 11;
  expect_refused(ladder_gemm(&p), "type is 11, but must be from 0 to 10");
  p.type = -1;
  auto* plan = reinterpret_cast<ladder_plan*>(&p);
  expect_refused(ladder_plan_create(&p, &plan), "type is -1, but must be from 0 to 10");
  EXPECT_EQ(nullptr, plan);
  p = problem();
  p.activation = 5;
  expect_refused(ladder_gemm(&p), "activation is 5, but must be from 0 to 4");
  p = problem();
  p.M = -3;
  expect_refused(ladder_gemm(&p), "M is -3, but must be from 0 to 2147482623");
  p = problem();
  p.B = at(0, 1);
  expect_refused(ladder_gemm(&p), "B is on GPU 1, but the current device is GPU 0");
}

TEST_F(CInterface, SaysWhetherItWasCudaOrElse) {
  const ladder_problem p = problem();
  gpus.fails = [] { throw CudaError("out of GPUs"); };
  EXPECT_EQ(LADDER_CUDA_ERROR, ladder_gemm(&p));
  EXPECT_STREQ("out of GPUs", ladder_last_error());
  gpus.fails = [] { throw std::bad_alloc(); };
  EXPECT_EQ(LADDER_FAILED, ladder_gemm(&p));
  EXPECT_STREQ("std::bad_alloc", ladder_last_error());
  gpus.fails = [] { throw 1; };
  EXPECT_EQ(LADDER_FAILED, ladder_gemm(&p));
  EXPECT_STREQ("an exception of no known type", ladder_last_error());
  gpus.fails = [] { throw std::logic_error(std::string(5000, 'x')); };
  EXPECT_EQ(LADDER_FAILED, ladder_gemm(&p));
  EXPECT_EQ(1023U, std::strlen(ladder_last_error()));
  gpus.fails = nullptr;
  EXPECT_EQ(LADDER_OK, ladder_gemm(&p));
  EXPECT_STREQ("", ladder_last_error());
}

}  // namespace
}  // namespace ladder
