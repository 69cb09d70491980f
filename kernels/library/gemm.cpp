// ladder::gemm, ladder::plan, ladder::workspace_bytes and ladder::explain: the plan of plan.h or
// along_k.h, carried out.
#include "../gemm.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "../launch.cuh"
#include "../types.cuh"
#include "along_k.h"
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
template <class In, class Out>
constexpr const char* NAME = TYPES[static_cast<int>(TYPE<In>)];
template <>
constexpr const char* NAME<e4m3, bf16> = "e4m3 to bf16";
template <>
constexpr const char* NAME<e5m2, bf16> = "e5m2 to bf16";
template <>
constexpr const char* NAME<int8_t, int32_t> = "int8 to int32";
template <>
constexpr const char* NAME<int8_t, int8_t> = "int8 to int8";
template <>
constexpr const char* NAME<tf32, float> = "fp32 as tf32";
template <>
constexpr const char* NAME<half, float> = "fp16 to fp32";
template <>
constexpr const char* NAME<bf16, float> = "bf16 to fp32";
template <>
constexpr const char* NAME<half, e4m3> = "fp16 to e4m3";
template <>
constexpr const char* NAME<bf16, e4m3> = "bf16 to e4m3";

// Numbers that tensor cores read along K alone have a stage each, which takes the problem as it is,
// and so has a C of fp32 or e4m3 of 16 bits.
template <class In, class Out>
constexpr bool HAS_ITS_STAGE = ALONG_K<In> || (sizeof(In) == 2 && !std::is_same_v<In, Out>);
template <class In, class Out>
bool is_along_k(const GemmOptions& options) {
  return HAS_ITS_STAGE<In, Out> || (std::is_same_v<In, float> && options.tf32);
}
Gemm<tf32, float> as_tf32(const Gemm<float, float>& p) {
  return {{p.M, p.N, p.K, reinterpret_cast<const tf32*>(p.A), p.lda,
           reinterpret_cast<const tf32*>(p.B), p.ldb, p.C, p.ldc, p.stream},
          p.workspace,
          p.workspace_bytes,
          p.transposed_a,
          p.transposed_b,
          p.scales,
          p.epilogue,
          p.groups,
          p.starts_early};
}
// What `along_k` says of the problem as such a stage has it, or `others` of any other.
template <class In, class Out, class AlongK, class Others>
auto by_kind(const Gemm<In, Out>& p, [[maybe_unused]] const GemmOptions& options,
             const AlongK& along_k, [[maybe_unused]] const Others& others) {
  if constexpr (HAS_ITS_STAGE<In, Out>) {
    return along_k(p);
  } else {
    if constexpr (std::is_same_v<In, float>)
      if (options.tf32) return along_k(as_tf32(p));
    return others(p);
  }
}

// The problem that is planned: with C by rows, and for all products of a batch.
template <class In, class Out>
Gemm<In, Out> to_plan(const Gemm<In, Out>& p, const GemmOptions& options) {
  require_possible_batch(p, options);
  if (options.tf32 && !std::is_same_v<In, float>)
    throw std::invalid_argument("tf32 is set, but belongs to fp32, and this is " +
                                std::string(NAME<In, Out>));
  if (options.fp32_sums && !std::is_same_v<In, e4m3>)
    throw std::invalid_argument("fp32_sums is set, but belongs to e4m3, and this is " +
                                std::string(NAME<In, Out>));
  if (is_along_k<In, Out>(options)) return p;
  const Gemm<In, Out> for_all = with_promises_of_all(p, options.batch);
  if (!options.transposed_c) return for_all;
  require_possible_by_columns(p);
  return of_transposed_c(for_all);
}

// Of a problem that is not along K.
template <class T>
Plan plan_of_any_layout(const Gemm<T, T>& p, const GemmOptions& options) {
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
  if (batch.count > 1 && !options.transposed_c && is_for_batch(made, p, current_gpu()))
    made.way =
        is_for_groups(p, TYPE<T>, batch.count, batch.stride_a, batch.stride_b, batch.stride_c)
            ? Way::GROUPED
            : Way::BATCH;
  return made;
}
template <class In, class Out>
Plan plan_of_along_k(const Gemm<In, Out>& p, const GemmOptions& options) {
  Plan made = plan_along_k(p, NAME<In, Out>, current_gpu(), options);
#if LADDER_HAS_WGMMA
  if constexpr (std::is_same_v<In, tf32>)
    if (made.way == Way::ALONG_K) made.way_bytes = tf32_bytes(p);
#endif
  return made;
}
// `p` as to_plan() has it.
template <class In, class Out>
Plan plan_of(const Gemm<In, Out>& p, const GemmOptions& options) {
  return by_kind(
      p, options, [&](const auto& p) { return plan_of_along_k(p, options); },
      [&](const auto& p) { return plan_of_any_layout(p, options); });
}

// What is said before a problem in words that stands for several, or for one with C by columns.
std::string options_in_words(const GemmOptions& options) {
  std::string text;
  if (options.batch.count != 1) text = "a batch of " + std::to_string(options.batch.count) + ": ";
  if (options.transposed_c) text += "C by columns, as the C^T = B^T * A^T by rows that follows: ";
  return text;
}
template <class T>
std::string in_words(const Plan& plan, const Gemm<T, T>& p) {
  std::string few_rows;
#if LADDER_HAS_CLUSTERS
  if constexpr (std::is_same_v<T, float>)
    if (plan.way == Way::FEW_ROWS) few_rows = few_rows_in_words(p);
#endif
  return in_words(plan, p, TYPE<T>, current_gpu(), few_rows);
}
template <class In, class Out>
std::string along_k_in_words(const Plan& plan, const Gemm<In, Out>& p,
                             [[maybe_unused]] const GemmOptions& options) {
  std::string stage;
#if LADDER_HAS_WGMMA
  if (plan.way == Way::ALONG_K) stage = stage_along_k(p, options.fp32_sums);
#endif
  return along_k_in_words(plan, p, NAME<In, Out>, current_gpu(), stage);
}
// explain(), for a plan that there is.
template <class In, class Out>
std::string reasons(const Plan& plan, const Gemm<In, Out>& p, const GemmOptions& options) {
  return options_in_words(options) +
         by_kind(
             p, options, [&](const auto& p) { return along_k_in_words(plan, p, options); },
             [&](const auto& p) { return in_words(plan, p); }) +
         (options.batch.count > 1 && plan.way != Way::GROUPED && plan.way != Way::BATCH
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
template <class In, class Out>
void log_once(const Plan& plan, const Gemm<In, Out>& p, const GemmOptions& options) {
  if (!is_logged()) return;
  static std::mutex mutex;
  static std::set<std::string> logged;
  std::string what = options_in_words(options) + in_words(p, NAME<In, Out>, current_gpu()) +
                     std::to_string(plan.workspace_bytes(sizeof(In))) +
                     (options.fixed_tile ? " fixed" : "") + (options.tf32 ? " tf32" : "") +
                     (options.fp32_sums ? " fp32 sums" : "");
  const std::lock_guard<std::mutex> lock(mutex);
  if (!logged.insert(std::move(what)).second) return;
  std::fputs(("ladder: " + reasons(plan, p, options)).c_str(), stderr);
}

std::string at_another_place(const std::string& name, const char* where, int device) {
  return name + " is " + where + ", but has to be on GPU " + std::to_string(device);
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

// What is read beside A and B.
template <class In, class Out>
void require_on_device(const Gemm<In, Out>& p) {
  const Epilogue<Out>& e = p.epilogue;
  if (e.row_scale) require_on_device("row_scale", e.row_scale);
  if (e.column_scale) require_on_device("column_scale", e.column_scale);
  if (e.beta != 0) require_on_device("the addend", e.addend);
  if (e.bias) require_on_device("the bias", e.bias);
  if (e.residual) require_on_device("the residual", e.residual);
  if (p.scales.a) require_on_device("scales.a", p.scales.a);
  if (p.scales.b) require_on_device("scales.b", p.scales.b);
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
template <class In, class Out>
void carry_out(const Plan& plan, const Gemm<In, Out>& p, const GemmOptions& options) {
#if LADDER_HAS_WGMMA
  if constexpr (std::is_same_v<Gemm<In, Out>, Gemm<half, half>>)
    if (plan.way == Way::GROUPED) return launch_groups(p, options.batch.count);
  if constexpr (std::is_same_v<In, Out> && sizeof(In) == 2)
    if (plan.way == Way::BATCH) {
      std::vector<Matrices<In, Out>> all;
      all.reserve(static_cast<size_t>(options.batch.count));
      for (int i = 0; i < options.batch.count; ++i) {
        const Gemm<In, Out> product = product_of(p, options.batch, i);
        all.push_back({product.A, product.B, product.C});
      }
      return launch_batch(p, all.data(), options.batch.count);
    }
#endif
  for (int i = 0; i < options.batch.count; ++i)
    by_kind(
        product_of(p, options.batch, i), options,
        [&]([[maybe_unused]] const auto& product) {
#if LADDER_HAS_WGMMA
          launch_along_k(product, options.fp32_sums);
#endif
        },
        [&](const auto& product) {
          carry_out(plan, options.transposed_c ? of_transposed_c(product) : product);
        });
}

// The alignment that an address promises for all that come in its place.
uint64_t promised(const void* address, uint64_t element_bytes) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0 ? 16 : element_bytes;
}

}  // namespace

template <class In, class Out>
struct Kept {
  Gemm<In, Out> problem;
  GemmOptions options;
  Plan plan;
  uint64_t workspace_bytes;
  int device;
  bool addend_is_c, residual_is_c;
  bool is_for_batch;  // run() of several

  // Each for run() of one product, or for product number `product` of several.
  template <class T>
  void require(const char* name, const T* address, const T* of_problem,
               std::optional<int> product) const {
    const uint64_t unit = promised(of_problem, sizeof(T));
    if (address != nullptr && reinterpret_cast<uintptr_t>(address) % unit == 0) return;
    std::string what = name;
    if (product) what += " of product " + std::to_string(*product);
    throw std::invalid_argument(address == nullptr
                                    ? at_another_place(what, "null", device)
                                    : "the address of " + what + " is " +
                                          std::to_string(reinterpret_cast<uintptr_t>(address)) +
                                          ", but the plan was promised a multiple of " +
                                          std::to_string(unit));
  }
  void require(const Matrices<In, Out>& of, std::optional<int> product = {}) const {
    if (plan.way != Way::ZEROS) {
      require("A", of.A, problem.A, product);
      require("B", of.B, problem.B, product);
    }
    require("C", of.C, problem.C, product);
  }
  void require_its_device() const {
    if (const int current = current_device(); current != device)
      throw std::invalid_argument("the plan is for GPU " + std::to_string(device) +
                                  ", but the current device is GPU " + std::to_string(current));
  }
  bool is_empty() const { return plan.way == Way::NOTHING || options.batch.count == 0; }
  // The problem of these matrices.
  Gemm<In, Out> at(const Matrices<In, Out>& of, CUstream_st* stream, void* workspace) const {
    Gemm<In, Out> p = problem;
    p.A = of.A, p.B = of.B, p.C = of.C, p.stream = stream;
    if (addend_is_c) p.epilogue.addend = of.C;
    if (residual_is_c) p.epilogue.residual = of.C;
    p.workspace = workspace, p.workspace_bytes = workspace_bytes;
    require_workspace(p, workspace_bytes);
    return p;
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
  if (!is_empty) require_on_device(problem);
  kept_ = std::make_shared<const Kept<In, Out>>(Kept<In, Out>{
      problem, options, plan, plan.workspace_bytes(sizeof(In)), current_device(), addend_is_c,
      residual_is_c, !options.transposed_c && is_for_batch(plan, planned, current_gpu())});
}

template <class In, class Out>
void KeptPlan<In, Out>::run(const In* A, const In* B, Out* C, CUstream_st* stream,
                            void* workspace) const {
  const library::Kept<In, Out>& kept = *kept_;
  kept.require_its_device();
  if (kept.is_empty()) return;
  kept.require({A, B, C});
  library::carry_out(kept.plan, kept.at({A, B, C}, stream, workspace), kept.options);
}

template <class In, class Out>
void KeptPlan<In, Out>::run(const Matrices<In, Out>* all, int count, CUstream_st* stream,
                            void* workspace) const {
  const library::Kept<In, Out>& kept = *kept_;
  kept.require_its_device();
  if (kept.options.batch.count != 1)
    throw std::invalid_argument("the plan is of a batch of " +
                                std::to_string(kept.options.batch.count) +
                                ", and not of one product");
  if (count < 0)
    throw std::invalid_argument("the count is " + std::to_string(count) +
                                ", but must not be negative");
  if (kept.is_empty() || count == 0) return;
  if (all == nullptr) throw std::invalid_argument("the array of matrices is null");
  for (int i = 0; i < count; ++i) kept.require(all[i], i);
#if LADDER_HAS_WGMMA
  if constexpr (std::is_same_v<In, Out> && sizeof(In) == 2)
    if (kept.is_for_batch && count > 1)
      return library::launch_batch(kept.at(all[0], stream, workspace), all, count);
#endif
  for (int i = 0; i < count; ++i)
    library::carry_out(kept.plan, kept.at(all[i], stream, workspace), kept.options);
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
  require_on_device(problem);
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

#define LADDER_INSTANTIATE(In, Out)                                            \
  template class KeptPlan<In, Out>;                                            \
  template void gemm(const Gemm<In, Out>&, const GemmOptions&);                \
  template uint64_t workspace_bytes(const Gemm<In, Out>&, const GemmOptions&); \
  template std::string explain(const Gemm<In, Out>&, const GemmOptions&);
LADDER_INSTANTIATE(half, half)
LADDER_INSTANTIATE(bf16, bf16)
LADDER_INSTANTIATE(float, float)
LADDER_INSTANTIATE(e4m3, bf16)
LADDER_INSTANTIATE(e5m2, bf16)
LADDER_INSTANTIATE(int8_t, int32_t)
LADDER_INSTANTIATE(int8_t, int8_t)
LADDER_INSTANTIATE(half, float)
LADDER_INSTANTIATE(bf16, float)
LADDER_INSTANTIATE(half, e4m3)
LADDER_INSTANTIATE(bf16, e4m3)
#undef LADDER_INSTANTIATE

}  // namespace ladder
