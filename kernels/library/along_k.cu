// The stages for numbers that tensor cores read along K alone, each with the tile that it chooses;
// and 17's kernel for 16 bits with a C of fp32 or e4m3.
#include "../17_fp8.cuh"
#include "../17c_block_scaled.cuh"
#include "../19_tf32.cuh"
#include "../20_int8.cuh"
#include "../scaled.h"
#include "../to_float.cuh"
#include "along_k.h"
#include "launch.h"
#include "to_fp8.cuh"

namespace ladder::library {

static scaled::Problem as_scaled(const Gemm<e4m3, bf16>& p) {
  const Epilogue<bf16>& e = p.epilogue;
  scaled::Problem q{p, {e.row_scale, e.column_scale, true, e.bias, e.alpha}};
  q.epilogue = {};
  return q;
}
static scaled::Adds adds(bool fp32_sums) {
  return fp32_sums ? scaled::Adds::PROMOTED : scaled::Adds::FAST;
}

template <class In, class Out>
void launch_along_k(const Gemm<In, Out>& p, [[maybe_unused]] bool fp32_sums) {
  if constexpr (std::is_same_v<In, e4m3>)
    if (is_for_scaled(p, fp32_sums)) return scaled::gemm(as_scaled(p), adds(fp32_sums));
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
template void launch_along_k(const Gemm<e4m3, bf16>&, bool);
template void launch_along_k(const Gemm<e5m2, bf16>&, bool);
template void launch_along_k(const Gemm<int8_t, int32_t>&, bool);
template void launch_along_k(const Gemm<int8_t, int8_t>&, bool);
template void launch_along_k(const Gemm<tf32, float>&, bool);
template void launch_along_k(const Gemm<half, float>&, bool);
template void launch_along_k(const Gemm<bf16, float>&, bool);
template void launch_along_k(const Gemm<half, e4m3>&, bool);
template void launch_along_k(const Gemm<bf16, e4m3>&, bool);

template <class In, class Out>
std::string stage_along_k(const Gemm<In, Out>& p, [[maybe_unused]] bool fp32_sums) {
  if constexpr (std::is_same_v<In, e4m3>)
    if (is_for_scaled(p, fp32_sums))
      return (fp32_sums ? "17b" : "17") + std::string(" with factors, ") +
             scaled::tile(as_scaled(p), adds(fp32_sums));
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
template std::string stage_along_k(const Gemm<e4m3, bf16>&, bool);
template std::string stage_along_k(const Gemm<e5m2, bf16>&, bool);
template std::string stage_along_k(const Gemm<int8_t, int32_t>&, bool);
template std::string stage_along_k(const Gemm<int8_t, int8_t>&, bool);
template std::string stage_along_k(const Gemm<tf32, float>&, bool);
template std::string stage_along_k(const Gemm<half, float>&, bool);
template std::string stage_along_k(const Gemm<bf16, float>&, bool);
template std::string stage_along_k(const Gemm<half, e4m3>&, bool);
template std::string stage_along_k(const Gemm<bf16, e4m3>&, bool);

uint64_t tf32_bytes(const Gemm<tf32, float>& p) {
  return tf32_products::workspace_bytes<tf32_products::Way::ROUNDED>(p);
}

}  // namespace ladder::library
