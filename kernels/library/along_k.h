#pragma once
// What the library does about numbers that tensor cores read along K alone, those of 8 bits and
// tf32, and about 16 bits with a C of fp32 or e4m3: a stage takes the problem as it is, or it is
// refused. Plain C++.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../gemm.h"
#include "../validate.h"
#include "plan.h"

struct __nv_fp8_e4m3;  // of CUDA's header

namespace ladder::library {

// The contract of a C of e4m3, which has a factor for all of it and one for each column. Throws
// std::invalid_argument.
template <class In, class Out>
void require_valid_scaling(const Gemm<In, Out>& p) {
  require_valid_matrices(p);
  require_no_groups(p);
  const Epilogue<Out>& e = p.epilogue;
  if (e.row_scale || e.beta != 0 || e.bias || e.activation != Activation::NONE || e.residual ||
      e.zero_point != 0)
    throw std::invalid_argument(
        "this kernel's epilogue has alpha and column_scale, and nothing else");
}

// Whether scaled.cuh computes it, which has what 17 has not: factors, a bias, sums in fp32. Those
// of 17c are in fp32 anyway.
template <class In, class Out>
bool is_for_scaled(const Gemm<In, Out>& p, bool fp32_sums) {
  return std::is_same_v<In, __nv_fp8_e4m3> && (!is_product_alone(p.epilogue) || fp32_sums) &&
         !p.scales.a && !p.scales.b;
}

// The contract of scaled.cuh. Throws likewise.
template <class In, class Out>
void require_valid_factors(const Gemm<In, Out>& p) {
  require_usual_layout(p);
  require_valid_matrices(p);
  require_no_groups(p);
  const Epilogue<Out>& e = p.epilogue;
  if (e.beta != 0 || e.activation != Activation::NONE || e.residual || e.zero_point != 0)
    throw std::invalid_argument(
        "this kernel's epilogue has alpha, row_scale, column_scale and bias, and nothing else");
  if (!is_product_alone(e)) require_size("K", p.K, 1);
  require_multiple("N", p.N, 2);
  require_multiple("the address of the column scales", reinterpret_cast<uintptr_t>(e.column_scale),
                   8);
  require_multiple("the address of the bias", reinterpret_cast<uintptr_t>(e.bias), 4);
}

// Throws std::invalid_argument, naming what the stage does not take. `type` is in words.
template <class In, class Out>
void require_possible_along_k(const Gemm<In, Out>& p, const std::string& type, const Gpu& gpu,
                              const GemmOptions& options) {
  constexpr bool IS_TF32 = sizeof(In) == 4, HAS_16_BITS = sizeof(In) == 2,
                 IS_FP8 = sizeof(In) == 1 && !std::is_integral_v<In>;
  if (!gpu.has_wgmma)
    throw std::invalid_argument(type + " needs wgmma (sm_90a), which " + gpu.name +
                                " or this build does not have");
  if (options.fixed_tile)
    throw std::invalid_argument("fixed_tile is set, but there is none of " + type);
  if (options.transposed_c)
    throw std::invalid_argument("transposed_c is set, but C of " + type + " is by rows");
  if constexpr (std::is_same_v<Out, int8_t>)
    require_valid_requantisation(p);
  else if constexpr (sizeof(Out) == 1)
    require_valid_scaling(p);
  else if (is_for_scaled(p, options.fp32_sums))
    require_valid_factors(p);
  else  // 19 transposes what is not stored along K
    require_valid(p, IS_TF32 || HAS_16_BITS ? Layouts::ANY : Layouts::USUAL);
  if (HAS_16_BITS && (p.transposed_a || !p.transposed_b))
    throw std::invalid_argument(type + " needs A by rows, M x K, and B by columns, N x K");
  require_aligned_rows(p);
  if (IS_FP8 && (p.scales.a || p.scales.b))
    require_scales(p);
  else
    require_no_scales(p, type);
  if (options.batch.count <= 1) return;
  require_multiple("stride_a", options.batch.stride_a, 16 / sizeof(In));
  require_multiple("stride_b", options.batch.stride_b, 16 / sizeof(In));
  require_multiple("stride_c", options.batch.stride_c, 16 / sizeof(Out));
}

// But for what the stage needs of the workspace. Throws likewise.
template <class In, class Out>
Plan plan_along_k(const Gemm<In, Out>& p, const std::string& type, const Gpu& gpu,
                  const GemmOptions& options) {
  require_possible_along_k(p, type, gpu, options);
  Plan plan;
  if (p.M == 0 || p.N == 0) return plan;
  plan.way = p.K == 0 ? Way::ZEROS : Way::ALONG_K;
  return plan;
}

// The plan in words. `stage` is the stage and its tile.
template <class In, class Out>
std::string along_k_in_words(const Plan& plan, const Gemm<In, Out>& p, const std::string& type,
                             const Gpu& gpu, const std::string& stage) {
  std::string text = in_words(p, type, gpu);
  if (plan.way == Way::NOTHING) return text + "nothing: C is empty\n";
  if (plan.way == Way::ZEROS)
    return text + (std::is_same_v<Out, int8_t> ? "the zero point" : "zeros") + ", for K is 0\n";
  const auto turned = [&](const char* name) {
    text += std::string("first, 19's pass that transposes ") + name +
            " to the workspace: tensor cores read it along K\n";
  };
  if (p.transposed_a) turned("A");
  if (!p.transposed_b) turned("B");
  text += "stage " + stage + "\n";
  if (plan.way_bytes > 0) text += "workspace: " + std::to_string(plan.way_bytes) + " bytes\n";
  return text;
}

}  // namespace ladder::library
