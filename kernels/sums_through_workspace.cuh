#pragma once
// A variant of 05d, to be compared with it: the same tilings, but the sums are added as 05c does
// it. The blocks of a tile store to the workspace, in a C for each, and a second kernel adds these,
// in the order of K.
#include <array>
#include <utility>

#include "05d_split_in_cluster.cuh"

namespace ladder::split_in_cluster {

static __global__ void __launch_bounds__(THREADS)
    add_kernel(int M, int N, int split, const float* parts, int64_t pitch, float* C, int64_t ldc) {
  const int64_t row = blockIdx.x;
  for (int col = threadIdx.x; col < N; col += THREADS) {
    float sum = 0;
    for (int i = 0; i < split; ++i) sum += parts[(i * int64_t{M} + row) * pitch + col];
    C[row * ldc + col] = sum;
  }
}

// For each configuration.
template <size_t... I>
constexpr auto launchers_apart(std::index_sequence<I...>) {
  return std::array{
      launch_tiling<Tiling<CONFIGURATIONS[I].BM, CONFIGURATIONS[I].slices, CONFIGURATIONS[I].split,
                           (CONFIGURATIONS[I].split > 1)>>...};
}
inline constexpr auto LAUNCH_APART =
    launchers_apart(std::make_index_sequence<std::size(CONFIGURATIONS)>());

inline uint64_t workspace_bytes_through_workspace(const Gemm<float, float>& p) {
  const Configuration* const c = chosen(p, LeftOut::NOTHING).configuration;
  if (!c) return split_k::workspace_bytes(p);
  return c->split > 1 ? sizeof(float) * c->split * p.M * (ceil_div(p.N, 4) * uint64_t{4}) : 0;
}
inline void gemm_through_workspace(const Gemm<float, float>& p) {
  const Configuration* const c = chosen(p, LeftOut::NOTHING).configuration;
  if (p.M == 0 || p.N == 0 || !c || c->split == 1) return gemm(p);
  require_valid(p);
  require_aligned_rows(p);
  require_workspace(p, workspace_bytes_through_workspace(p));
  Gemm<float, float> apart = p;
  apart.C = static_cast<float*>(p.workspace);
  apart.ldc = ceil_div(p.N, 4) * 4;
  LAUNCH_APART[c - CONFIGURATIONS](apart);
  launch(add_kernel, dim3(p.M), dim3(THREADS), 0, p.stream, p.M, p.N, c->split, apart.C, apart.ldc,
         p.C, p.ldc);
}

}  // namespace ladder::split_in_cluster
