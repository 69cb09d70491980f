#pragma once
// C[M,N] = A[M,K] * B[K,N] in fp32, of A and B in fp16 or bf16: the sums as they are, unrounded. It
// is 17's kernel, as 22 has it for its scores. A lies by rows, and B by columns.
#include <stdexcept>

#include "22_unfused.cuh"

namespace ladder::to_float {

// Throws CudaError where there is no TMA.
template <class In, int BM, int BN>
void launch_configuration(const Gemm<In, float>& p, int tiles_of_C, int blocks) {
  using unfused::AsTheyAre;
  fp8::launch_kernel<BM, BN>(fp8::gemm_kernel<In, float, BM, BN, AsTheyAre>, p, tiles_of_C, blocks,
                             AsTheyAre{});
}
template <class In, int BM, int BN>
constexpr fp8::Configuration<In, float> configuration(double step) {
  return {BM, BN, step, launch_configuration<In, BM, BN>};
}
// The times of a step are 17's, which has as many bytes, and as many clocks of the tensor core.
template <class In>
inline constexpr fp8::Configuration<In, float> CONFIGURATIONS[] = {
    configuration<In, 128, 128>(364), configuration<In, 128, 256>(670),
    configuration<In, 256, 128>(686)};

template <class In>
void gemm_as(const fp8::Configuration<In, float>& c, const Gemm<In, float>& p) {
  if (p.transposed_a || !p.transposed_b)
    throw std::invalid_argument("this kernel needs A by rows, M x K, and B by columns, N x K");
  if (!done_without_kernel(p, Layouts::ANY)) launch_in_waves(c, p);
}
template <class In>
void gemm(const Gemm<In, float>& p) {
  gemm_as(first_done(CONFIGURATIONS<In>, p), p);
}

}  // namespace ladder::to_float
