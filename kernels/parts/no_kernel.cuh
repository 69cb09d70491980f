#pragma once
// What the launchers of TMA's stages do first: what stage 08 spells out.
#include <type_traits>

#include "../launch.cuh"

#ifndef __CUDACC_RTC__
namespace ladder {

// Throws what the contract says. Then: whether C is done without a kernel, being empty or, with
// K = 0, zeros, or of int8 what stands for zero; a tensor map has no place for an empty matrix.
template <class In, class Out>
bool done_without_kernel(const Gemm<In, Out>& p, Layouts layouts = Layouts::USUAL) {
  if constexpr (std::is_same_v<Out, int8_t>)
    require_valid_requantisation(p);
  else
    require_valid(p, layouts);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return true;
  if (p.K > 0) return false;
  LADDER_CUDA_CHECK(cudaMemset2DAsync(p.C, p.ldc * sizeof(Out), p.epilogue.zero_point,
                                      p.N * sizeof(Out), p.M, p.stream));
  return true;
}

// The same for a kernel that takes groups.
template <class In, class Out>
bool done_without_kernel_of_groups(Gemm<In, Out> p) {
  require_valid_groups(p);
  p.groups = {};
  return done_without_kernel(p);
}

}  // namespace ladder
#endif  // __CUDACC_RTC__
