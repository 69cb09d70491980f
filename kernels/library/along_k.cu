// The stages for numbers that tensor cores read along K alone, each with the tile that it chooses;
// and 17's kernel for 16 bits with a C of fp32 or e4m3.
#include "../17_fp8.cuh"
#include "../17c_block_scaled.cuh"
#include "../19_tf32.cuh"
#include "../20_int8.cuh"
#include "../scaled.cuh"
#include "../to_float.cuh"
#include "launch.h"
#include "to_fp8.cuh"

namespace ladder::library {

static void launch_with_factors(const Gemm<e4m3, bf16>& p) {
  const Epilogue<bf16>& e = p.epilogue;
  scaled::Problem q{p, {e.row_scale, e.column_scale, true, e.bias, e.alpha}};
  q.epilogue = {};
  scaled::gemm(q, scaled::Adds::FAST);
}

template <class In, class Out>
void launch_along_k(const Gemm<In, Out>& p) {
  if constexpr (std::is_same_v<In, e4m3>)
    if (!is_product_alone(p.epilogue)) return launch_with_factors(p);
  if constexpr (std::is_same_v<In, tf32>)
    tf32_products::gemm(p);
  else if constexpr (std::is_same_v<In, int8_t>)
    int8::gemm(p);
  else if constexpr (std::is_same_v<Out, e4m3>)
    to_fp8::gemm(p);
  else if constexpr (sizeof(In) == 2)
    to_float::gemm(p);
  else if (p.scales.a || p.scales.b)
    block_scaled::gemm(p);
  else
    fp8::gemm(p);
}
template void launch_along_k(const Gemm<e4m3, bf16>&);
template void launch_along_k(const Gemm<e5m2, bf16>&);
template void launch_along_k(const Gemm<int8_t, int32_t>&);
template void launch_along_k(const Gemm<int8_t, int8_t>&);
template void launch_along_k(const Gemm<tf32, float>&);
template void launch_along_k(const Gemm<half, float>&);
template void launch_along_k(const Gemm<bf16, float>&);
template void launch_along_k(const Gemm<half, e4m3>&);
template void launch_along_k(const Gemm<bf16, e4m3>&);

template <class In, class Out>
std::string stage_along_k(const Gemm<In, Out>& p) {
  if constexpr (std::is_same_v<In, e4m3>)
    if (!is_product_alone(p.epilogue)) {
      const scaled::Configuration& c = first_done(scaled::FAST, scaled::Problem{p, {}});
      return "17 with factors, " + std::to_string(c.BM) + "x" + std::to_string(c.BN);
    }
  if constexpr (std::is_same_v<In, tf32>)
    return "19 tf32, 128x128 or 128x256";
  else if constexpr (std::is_same_v<In, int8_t>)
    return "20 int8, " + name(first_done(int8::CONFIGURATIONS<Out>, p));
  else if constexpr (std::is_same_v<Out, e4m3>)
    return "17 to e4m3, " + name(first_done(to_fp8::CONFIGURATIONS<In>, p));
  else if constexpr (sizeof(In) == 2)
    return "17 to fp32, " + name(first_done(to_float::CONFIGURATIONS<In>, p));
  else if (p.scales.a || p.scales.b)
    return "17c block_scaled, " + fp8::name(first_done(block_scaled::CONFIGURATIONS<In>, p));
  else
    return "17 fp8, " + name(first_done(fp8::CONFIGURATIONS<In>, p));
}
template std::string stage_along_k(const Gemm<e4m3, bf16>&);
template std::string stage_along_k(const Gemm<e5m2, bf16>&);
template std::string stage_along_k(const Gemm<int8_t, int32_t>&);
template std::string stage_along_k(const Gemm<int8_t, int8_t>&);
template std::string stage_along_k(const Gemm<tf32, float>&);
template std::string stage_along_k(const Gemm<half, float>&);
template std::string stage_along_k(const Gemm<bf16, float>&);
template std::string stage_along_k(const Gemm<half, e4m3>&);
template std::string stage_along_k(const Gemm<bf16, e4m3>&);

uint64_t tf32_bytes(const Gemm<tf32, float>& p) {
  return tf32_products::workspace_bytes<tf32_products::Way::ROUNDED>(p);
}

}  // namespace ladder::library
