// The functions of ladder.h: those of gemm.h, and no exception.
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>
#include <variant>
#include <vector>

#include "../gemm.h"
#include "../ladder.h"
#include "../launch.cuh"
#include "../types.cuh"

namespace {

using ladder::bf16, ladder::e4m3, ladder::e5m2;

// No std::string: to say that there is no memory must take none.
thread_local char last_error[1024] = "";

ladder_status failed(ladder_status status, const char* why) {
  std::snprintf(last_error, sizeof last_error, "%s", why);
  return status;
}

template <class Call>
ladder_status status_of(const Call& call) noexcept {
  last_error[0] = '\0';
  try {
    call();
    return LADDER_OK;
  } catch (const std::invalid_argument& error) {
    return failed(LADDER_INVALID_ARGUMENT, error.what());
  } catch (const ladder::CudaError& error) {
    return failed(LADDER_CUDA_ERROR, error.what());
  } catch (const std::exception& error) {
    return failed(LADDER_FAILED, error.what());
  } catch (...) {
    return failed(LADDER_FAILED, "an exception of no known type");
  }
}

void require_not_null(const char* name, const void* pointer) {
  if (pointer == nullptr) throw std::invalid_argument(std::string(name) + " is null");
}
void require_among(const char* name, int value, int count) {
  if (value < 0 || value >= count)
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                ", but must be from 0 to " + std::to_string(count - 1));
}

template <class In, class Out>
ladder::Gemm<In, Out> problem_of(const ladder_problem& p) {
  ladder::Gemm<In, Out> q{};
  q.M = p.M, q.N = p.N, q.K = p.K;
  q.A = static_cast<const In*>(p.A), q.lda = p.lda;
  q.B = static_cast<const In*>(p.B), q.ldb = p.ldb;
  q.C = static_cast<Out*>(p.C), q.ldc = p.ldc;
  q.stream = static_cast<CUstream_st*>(p.stream);
  q.workspace = p.workspace, q.workspace_bytes = p.workspace_bytes;
  q.transposed_a = p.transposed_a != 0, q.transposed_b = p.transposed_b != 0;
  q.starts_early = p.starts_early != 0;
  q.scales = {p.scales_a, p.ld_scales_a, p.scales_b, p.ld_scales_b};
  ladder::Epilogue<Out>& e = q.epilogue;
  e.alpha = p.alpha, e.beta = p.beta;
  e.row_scale = p.row_scale, e.column_scale = p.column_scale;
  e.addend = static_cast<const Out*>(p.addend), e.ld_addend = p.ld_addend;
  e.bias = static_cast<const Out*>(p.bias);
  e.residual = static_cast<const Out*>(p.residual), e.ld_residual = p.ld_residual;
  e.activation = static_cast<ladder::Activation>(p.activation);
  e.zero_point = p.zero_point;
  return q;
}

// `call` with the ladder::Gemm that it is, and its options.
template <class Call>
void with(const ladder_problem* p, const Call& call) {
  require_not_null("problem", p);
  require_among("type", p->type, LADDER_BF16_E4M3 + 1);
  require_among("activation", p->activation, static_cast<int>(ladder::Activation::SILU) + 1);
  const ladder::GemmOptions options{p->fixed_tile != 0,
                                    p->transposed_c != 0,
                                    {p->batch_count, p->stride_a, p->stride_b, p->stride_c},
                                    p->tf32 != 0,
                                    p->fp32_sums != 0};
  switch (p->type) {
    case LADDER_FP16:
      return call(problem_of<half, half>(*p), options);
    case LADDER_BF16:
      return call(problem_of<bf16, bf16>(*p), options);
    case LADDER_E4M3_BF16:
      return call(problem_of<e4m3, bf16>(*p), options);
    case LADDER_E5M2_BF16:
      return call(problem_of<e5m2, bf16>(*p), options);
    case LADDER_INT8_INT32:
      return call(problem_of<int8_t, int32_t>(*p), options);
    case LADDER_INT8_INT8:
      return call(problem_of<int8_t, int8_t>(*p), options);
    case LADDER_FP16_FP32:
      return call(problem_of<half, float>(*p), options);
    case LADDER_BF16_FP32:
      return call(problem_of<bf16, float>(*p), options);
    case LADDER_FP16_E4M3:
      return call(problem_of<half, e4m3>(*p), options);
    case LADDER_BF16_E4M3:
      return call(problem_of<bf16, e4m3>(*p), options);
    default:
      return call(problem_of<float, float>(*p), options);
  }
}

}  // namespace

struct ladder_plan {
  std::variant<
      ladder::KeptPlan<half, half>, ladder::KeptPlan<bf16, bf16>, ladder::KeptPlan<float, float>,
      ladder::KeptPlan<e4m3, bf16>, ladder::KeptPlan<e5m2, bf16>, ladder::KeptPlan<int8_t, int32_t>,
      ladder::KeptPlan<int8_t, int8_t>, ladder::KeptPlan<half, float>,
      ladder::KeptPlan<bf16, float>, ladder::KeptPlan<half, e4m3>, ladder::KeptPlan<bf16, e4m3>>
      kept;
};

void ladder_problem_init(ladder_problem* problem) {
  if (problem == nullptr) return;
  *problem = {};
  problem->alpha = 1, problem->batch_count = 1;
}

ladder_status ladder_gemm(const ladder_problem* problem) {
  return status_of(
      [&] { with(problem, [](const auto& p, const auto& options) { ladder::gemm(p, options); }); });
}

ladder_status ladder_workspace_bytes(const ladder_problem* problem, uint64_t* bytes) {
  return status_of([&] {
    require_not_null("bytes", bytes);
    with(problem,
         [&](const auto& p, const auto& options) { *bytes = ladder::workspace_bytes(p, options); });
  });
}

ladder_status ladder_explain(const ladder_problem* problem, char* text, size_t size) {
  return status_of([&] {
    require_not_null("text", text);
    if (size == 0) throw std::invalid_argument("size is 0, but a text ends with a zero");
    text[0] = '\0';
    with(problem, [&](const auto& p, const auto& options) {
      std::snprintf(text, size, "%s", ladder::explain(p, options).c_str());
    });
  });
}

ladder_status ladder_plan_create(const ladder_problem* problem, ladder_plan** plan) {
  return status_of([&] {
    require_not_null("plan", plan);
    *plan = nullptr;
    with(problem, [&](const auto& p, const auto& options) {
      *plan = new ladder_plan{ladder::plan(p, options)};
    });
  });
}

ladder_status ladder_plan_workspace_bytes(const ladder_plan* plan, uint64_t* bytes) {
  return status_of([&] {
    require_not_null("plan", plan);
    require_not_null("bytes", bytes);
    std::visit([&](const auto& kept) { *bytes = kept.workspace_bytes(); }, plan->kept);
  });
}

namespace {

template <class In, class Out>
ladder::Matrices<In, Out> of(const ladder_matrices& m) {
  return {static_cast<const In*>(m.A), static_cast<const In*>(m.B), static_cast<Out*>(m.C)};
}
template <class In, class Out>
void run(const ladder::KeptPlan<In, Out>& kept, const ladder_matrices& matrices,
         CUstream_st* stream, void* workspace) {
  const auto [A, B, C] = of<In, Out>(matrices);
  kept.run(A, B, C, stream, workspace);
}
template <class In, class Out>
void run_all(const ladder::KeptPlan<In, Out>& kept, const ladder_matrices* all, int count,
             CUstream_st* stream, void* workspace) {
  std::vector<ladder::Matrices<In, Out>> of_these_types;
  for (int i = 0; i < count; ++i) of_these_types.push_back(of<In, Out>(all[i]));
  kept.run(of_these_types.data(), count, stream, workspace);
}

}  // namespace

ladder_status ladder_plan_run(const ladder_plan* plan, const void* A, const void* B, void* C,
                              void* stream, void* workspace) {
  return status_of([&] {
    require_not_null("plan", plan);
    std::visit(
        [&](const auto& kept) {
          run(kept, {A, B, C}, static_cast<CUstream_st*>(stream), workspace);
        },
        plan->kept);
  });
}

ladder_status ladder_plan_run_all(const ladder_plan* plan, const ladder_matrices* all,
                                  int32_t count, void* stream, void* workspace) {
  return status_of([&] {
    require_not_null("plan", plan);
    if (count > 0) require_not_null("all", all);
    std::visit(
        [&](const auto& kept) {
          run_all(kept, all, count, static_cast<CUstream_st*>(stream), workspace);
        },
        plan->kept);
  });
}

void ladder_plan_destroy(ladder_plan* plan) {
  delete plan;
}

const char* ladder_last_error(void) {
  return last_error;
}
