// ladder::gemm, ladder::plan, ladder::workspace_bytes and ladder::explain: plan.h's plan, carried
// out.
#include "../gemm.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "../launch.cuh"
#include "../types.cuh"
#include "launch.h"
#include "options.h"
#include "plan.h"

namespace ladder {
namespace library {
namespace {

int current_device() {
  int device = 0;
  LADDER_CUDA_CHECK(cudaGetDevice(&device));
  return device;
}
// Of the current device. LADDER_HAS_WGMMA and LADDER_HAS_CLUSTERS are 1 where the build has such
// kernels for any GPU.
Gpu find_out() {
  cudaDeviceProp properties;
  LADDER_CUDA_CHECK(cudaGetDeviceProperties(&properties, current_device()));
  Gpu gpu{properties.name,
          properties.major * 10 + properties.minor,
          properties.multiProcessorCount,
          false,
          false,
          has_kernels()};
#if LADDER_HAS_WGMMA
  gpu.has_wgmma = has_kernels_of_wgmma();
#endif
#if LADDER_HAS_CLUSTERS
  gpu.has_clusters = has_kernels_of_clusters();
#endif
  return gpu;
}
// Found out once for each device: to ask for a name takes longer than a multiplication.
const Gpu& current_gpu() {
  static std::mutex mutex;
  static std::map<int, Gpu> gpus;
  const int device = current_device();
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = gpus.find(device);
  return known != gpus.end() ? known->second : gpus.emplace(device, find_out()).first->second;
}

template <class In>
constexpr Type TYPE = Type::FP16;
template <>
constexpr Type TYPE<bf16> = Type::BF16;
template <>
constexpr Type TYPE<float> = Type::FP32;

// The problem that is planned: with C by rows, and for all products of a batch.
template <class T>
Gemm<T, T> to_plan(const Gemm<T, T>& p, const GemmOptions& options) {
  require_possible_batch(p, options);
  const Gemm<T, T> for_all = with_promises_of_all(p, options.batch);
  if (!options.transposed_c) return for_all;
  require_possible_by_columns(p);
  return of_transposed_c(for_all);
}

// `p` as to_plan() has it.
template <class T>
Plan plan_of(const Gemm<T, T>& p, const GemmOptions& options) {
  const Tiles tiles = options.fixed_tile ? Tiles::FIXED : Tiles::FIRST_DONE;
  Plan made = plan(p, TYPE<T>, current_gpu(), tiles, [](Way way, const Gemm<T, T>& p) {
    if constexpr (std::is_same_v<T, float>) {
#if LADDER_HAS_CLUSTERS
      if (way == Way::FEW_ROWS) return few_rows_bytes(p);
#endif
      if (way == Way::SPLIT_K) return split_k_bytes(p);
    }
    return uint64_t{0};
  });
  const Batch& batch = options.batch;
  if (!options.transposed_c && is_for_groups(made, p, TYPE<T>, current_gpu(), batch.count,
                                             batch.stride_a, batch.stride_b, batch.stride_c))
    made.way = Way::GROUPED;
  return made;
}

// What is said before a problem in words that stands for several, or for one with C by columns.
std::string options_in_words(const GemmOptions& options) {
  std::string text;
  if (options.batch.count != 1) text = "a batch of " + std::to_string(options.batch.count) + ": ";
  if (options.transposed_c) text += "C by columns, as the C^T = B^T * A^T by rows that follows: ";
  return text;
}
// explain(), for a plan that there is.
template <class T>
std::string reasons(const Plan& plan, const Gemm<T, T>& p, const GemmOptions& options) {
  std::string few_rows;
#if LADDER_HAS_CLUSTERS
  if constexpr (std::is_same_v<T, float>)
    if (plan.way == Way::FEW_ROWS) few_rows = few_rows_in_words(p);
#endif
  return options_in_words(options) + in_words(plan, p, TYPE<T>, current_gpu(), few_rows) +
         (options.batch.count > 1 && plan.way != Way::GROUPED
              ? "each product of the batch is launched by itself\n"
              : "");
}

bool is_logged() {
  static const bool logged = [] {
    const char* const value = std::getenv("LADDER_LOG");
    return value && *value != '\0' && std::strcmp(value, "0") != 0;
  }();
  return logged;
}
// Each plan once: what it is made of, but for addresses, tells it from others.
template <class T>
void log_once(const Plan& plan, const Gemm<T, T>& p, const GemmOptions& options) {
  if (!is_logged()) return;
  static std::mutex mutex;
  static std::set<std::string> logged;
  std::string what = options_in_words(options) + in_words(p, TYPE<T>, current_gpu()) +
                     std::to_string(plan.workspace_bytes(sizeof(T))) +
                     (options.fixed_tile ? " fixed" : "");
  const std::lock_guard<std::mutex> lock(mutex);
  if (!logged.insert(std::move(what)).second) return;
  std::fputs(("ladder: " + reasons(plan, p, options)).c_str(), stderr);
}

std::string at_another_place(const char* name, const char* where, int device) {
  return std::string(name) + " is " + where + ", but has to be on GPU " + std::to_string(device);
}
// Where a matrix is, which kernels would only tell by a fault that ends the context.
void require_on_device(const char* name, const void* address) {
  cudaPointerAttributes attributes;
  LADDER_CUDA_CHECK(cudaPointerGetAttributes(&attributes, address));
  const int device = current_device();
  const bool is_memory_of_a_device =
      attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  if (!is_memory_of_a_device)
    throw std::invalid_argument(
        at_another_place(name, address ? "in the host's memory" : "null", device));
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != device)
    throw std::invalid_argument(std::string(name) + " is on GPU " +
                                std::to_string(attributes.device) +
                                ", but the current device is GPU " + std::to_string(device));
}

// What an epilogue reads.
template <class T>
void require_on_device(const Epilogue<T>& e) {
  if (e.row_scale) require_on_device("row_scale", e.row_scale);
  if (e.column_scale) require_on_device("column_scale", e.column_scale);
  if (e.beta != 0) require_on_device("the addend", e.addend);
  if (e.bias) require_on_device("the bias", e.bias);
  if (e.residual) require_on_device("the residual", e.residual);
}

template <class T>
void multiply(const Plan& plan, const Gemm<T, T>& p) {
  [[maybe_unused]] const auto tile = [&] { return plan.tile->candidate; };
  switch (plan.way) {
#if LADDER_HAS_WGMMA
    case Way::PRODUCT:
      if constexpr (sizeof(T) == 2) launch_product(tile(), p);
      return;
    case Way::FUSED:
      if constexpr (sizeof(T) == 2) launch_fused(tile(), p);
      return;
    case Way::LAYOUT:
      if constexpr (sizeof(T) == 2) {
        if (p.transposed_a)
          launch_a_by_columns(tile(), p);
        else if (is_product_alone(p.epilogue))
          launch_b_by_columns(tile(), p);
        else
          launch_b_by_columns_fused(tile(), p);
      }
      return;
    case Way::LINEAR:
      if constexpr (sizeof(T) == 2) launch_linear(tile(), p);
      return;
#endif
#if LADDER_HAS_CLUSTERS
    case Way::FEW_ROWS:
      if constexpr (sizeof(T) == 4) launch_few_rows(p);
      return;
#endif
    case Way::SPLIT_K:
      if constexpr (sizeof(T) == 4) launch_split_k(p);
      return;
    case Way::SWIZZLE:
      if constexpr (sizeof(T) == 2) launch_swizzle(p);
      return;
    default:  // nothing is multiplied
      return;
  }
}

template <class T>
void carry_out(const Plan& plan, Gemm<T, T> p) {
  auto* free = static_cast<unsigned char*>(p.workspace);  // what nobody has of it
  const auto place = [&](const Copy& copy) {
    T* const matrix = reinterpret_cast<T*>(free);
    free += Plan::on_lines(copy.elements() * sizeof(T));
    return matrix;
  };
  AllRowsToCopy<T> copies{};
  const auto copied = [&](const std::optional<Copy>& copy, const T*& matrix, int64_t& ld) {
    if (!copy) return;
    T* const to = place(*copy);
    copies.all[copies.count++] = {copy->rows, copy->columns, matrix, ld, to, copy->ld};
    matrix = to, ld = copy->ld;
  };
  const auto turned = [&](const std::optional<Copy>& copy, const T*& matrix, int64_t& ld,
                          bool& is_transposed) {
    if (!copy) return;
    T* const to = place(*copy);
    launch_transpose(static_cast<int>(copy->rows), static_cast<int>(copy->columns), matrix, ld, to,
                     p.stream);
    matrix = to, ld = copy->ld, is_transposed = false;
  };
  Epilogue<T>& e = p.epilogue;
  int64_t ld_bias = p.N;
  copied(plan.a, p.A, p.lda), copied(plan.b, p.B, p.ldb);
  copied(plan.addend, e.addend, e.ld_addend), copied(plan.residual, e.residual, e.ld_residual);
  copied(plan.bias, e.bias, ld_bias);
  launch_copies(copies, p.stream);
  turned(plan.turned_a, p.A, p.lda, p.transposed_a);
  turned(plan.turned_b, p.B, p.ldb, p.transposed_b);
  T* const c = p.C;
  const int64_t ldc = p.ldc;
  if (plan.c) p.C = place(*plan.c), p.ldc = plan.c->ld;

  p.starts_early &= plan.pays_early;
  p.workspace = free;
  p.workspace_bytes = plan.way_bytes;
  if (plan.way != Way::ZEROS) {
    multiply(plan, p);
  } else if (is_product_alone(p.epilogue)) {
    LADDER_CUDA_CHECK(cudaMemset2DAsync(p.C, p.ldc * sizeof(T), 0, p.N * sizeof(T), p.M, p.stream));
  } else {
    launch_epilogue(p);
  }
  if (plan.c)
    launch_copies<T>({{{plan.c->rows, plan.c->columns, p.C, p.ldc, c, ldc}}, 1}, p.stream);
}

// All products of a batch. They share the workspace, for the stream has them one after the other.
template <class T>
void carry_out(const Plan& plan, const Gemm<T, T>& p, const GemmOptions& options) {
#if LADDER_HAS_WGMMA
  if constexpr (std::is_same_v<T, half>)
    if (plan.way == Way::GROUPED) return launch_batch(p, options.batch.count);
#endif
  for (int i = 0; i < options.batch.count; ++i) {
    const Gemm<T, T> product = product_of(p, options.batch, i);
    carry_out(plan, options.transposed_c ? of_transposed_c(product) : product);
  }
}

// The alignment that an address promises for all that come in its place.
uint64_t promised(const void* address, uint64_t element_bytes) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0 ? 16 : element_bytes;
}

}  // namespace

template <class T>
struct Kept {
  Gemm<T, T> problem;
  GemmOptions options;
  Plan plan;
  uint64_t workspace_bytes;
  int device;
  bool addend_is_c, residual_is_c;

  void require(const char* name, const void* address, const T* of_problem) const {
    if (address == nullptr) throw std::invalid_argument(at_another_place(name, "null", device));
    const uint64_t unit = promised(of_problem, sizeof(T));
    if (reinterpret_cast<uintptr_t>(address) % unit != 0)
      throw std::invalid_argument("the address of " + std::string(name) + " is " +
                                  std::to_string(reinterpret_cast<uintptr_t>(address)) +
                                  ", but the plan was promised a multiple of " +
                                  std::to_string(unit));
  }
};
}  // namespace library

template <class In, class Out>
KeptPlan<In, Out>::KeptPlan(const Gemm<In, Out>& problem, const GemmOptions& options) {
  using namespace library;
  const Gemm<In, Out> planned = to_plan(problem, options);
  const Plan plan = plan_of(planned, options);
  log_once(plan, planned, options);
  const bool is_empty = plan.way == Way::NOTHING || options.batch.count == 0;
  if (plan.way != Way::ZEROS && !is_empty) {
    if (problem.A) require_on_device("A", problem.A);
    if (problem.B) require_on_device("B", problem.B);
  }
  if (problem.C && !is_empty) require_on_device("C", problem.C);
  const Epilogue<Out>& e = problem.epilogue;
  const bool addend_is_c = problem.C && e.addend == problem.C,
             residual_is_c = problem.C && e.residual == problem.C;
  if (!is_empty) require_on_device(e);
  kept_ = std::make_shared<const Kept<Out>>(
      Kept<Out>{problem, options, plan, plan.workspace_bytes(sizeof(In)), current_device(),
                addend_is_c, residual_is_c});
}

template <class In, class Out>
void KeptPlan<In, Out>::run(const In* A, const In* B, Out* C, CUstream_st* stream,
                            void* workspace) const {
  using namespace library;
  const Kept<Out>& kept = *kept_;
  if (const int device = current_device(); device != kept.device)
    throw std::invalid_argument("the plan is for GPU " + std::to_string(kept.device) +
                                ", but the current device is GPU " + std::to_string(device));
  if (kept.plan.way == Way::NOTHING || kept.options.batch.count == 0) return;
  Gemm<In, Out> p = kept.problem;
  if (kept.plan.way != Way::ZEROS) {
    kept.require("A", A, p.A);
    kept.require("B", B, p.B);
  }
  kept.require("C", C, p.C);
  p.A = A, p.B = B, p.C = C, p.stream = stream;
  if (kept.addend_is_c) p.epilogue.addend = C;
  if (kept.residual_is_c) p.epilogue.residual = C;
  p.workspace = workspace, p.workspace_bytes = kept.workspace_bytes;
  require_workspace(p, kept.workspace_bytes);
  carry_out(kept.plan, p, kept.options);
}

template <class In, class Out>
uint64_t KeptPlan<In, Out>::workspace_bytes() const {
  return kept_->workspace_bytes;
}

template <class In, class Out>
void gemm(const Gemm<In, Out>& problem, const GemmOptions& options) {
  using namespace library;
  const Gemm<In, Out> planned = to_plan(problem, options);
  const Plan plan = plan_of(planned, options);
  log_once(plan, planned, options);
  if (plan.way == Way::NOTHING || options.batch.count == 0) return;
  if (plan.way != Way::ZEROS) {
    require_on_device("A", problem.A);
    require_on_device("B", problem.B);
  }
  require_on_device("C", problem.C);
  require_on_device(problem.epilogue);
  const uint64_t bytes = plan.workspace_bytes(sizeof(In));
  require_workspace(problem, bytes);
  if (bytes > 0) require_on_device("the workspace", problem.workspace);
  carry_out(plan, problem, options);
}

template <class In, class Out>
uint64_t workspace_bytes(const Gemm<In, Out>& problem, const GemmOptions& options) {
  using namespace library;
  return plan_of(to_plan(problem, options), options).workspace_bytes(sizeof(In));
}

template <class In, class Out>
std::string explain(const Gemm<In, Out>& problem, const GemmOptions& options) {
  using namespace library;
  try {
    const Gemm<In, Out> planned = to_plan(problem, options);
    return reasons(plan_of(planned, options), planned, options);
  } catch (const std::invalid_argument& reason) {
    return std::string("refused: ") + reason.what() + "\n";
  }
}

template class KeptPlan<half, half>;
template class KeptPlan<bf16, bf16>;
template class KeptPlan<float, float>;
template void gemm(const Gemm<half, half>&, const GemmOptions&);
template void gemm(const Gemm<bf16, bf16>&, const GemmOptions&);
template void gemm(const Gemm<float, float>&, const GemmOptions&);
template uint64_t workspace_bytes(const Gemm<half, half>&, const GemmOptions&);
template uint64_t workspace_bytes(const Gemm<bf16, bf16>&, const GemmOptions&);
template uint64_t workspace_bytes(const Gemm<float, float>&, const GemmOptions&);
template std::string explain(const Gemm<half, half>&, const GemmOptions&);
template std::string explain(const Gemm<bf16, bf16>&, const GemmOptions&);
template std::string explain(const Gemm<float, float>&, const GemmOptions&);

}  // namespace ladder
