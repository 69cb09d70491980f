#pragma once
// 05c with an epilogue, and what of it 05d has, too.
#include <limits>

#include "../05c_split_k.cuh"
#include "../ptx/max.cuh"
#include "finish.cuh"

namespace ladder::library {

// Finish for a bias, with alpha and ReLU at most: without a branch or a comparison. With one of
// these behind it, ptxas orders the loop over K worse, with up to 12 loads from shared memory
// behind each other: 4096^3 with bias and ReLU then takes 3.9% longer than alone, and with
// this 1.6% (H200).
struct Biased {
  float alpha, floor;
  const float* bias;
  int N;

  __device__ __forceinline__ float operator()(float sum, int, int n) const {
    return ptx::max_or_nan(alpha * sum + bias[min(n, N - 1)], floor);
  }
  __device__ __forceinline__ float4 operator()(float4 v, int m, int n) const {
    return make_float4((*this)(v.x, m, n), (*this)(v.y, m, n + 1), (*this)(v.z, m, n + 2),
                       (*this)(v.w, m, n + 3));
  }
};

// `launch` with what p's epilogue needs.
template <class Launch>
void with_finish(const Gemm<float, float>& p, const Launch& launch) {
  const Epilogue<float>& e = p.epilogue;
  const bool is_relu = e.activation == Activation::RELU;
  if (!e.bias || e.row_scale || e.column_scale || e.beta != 0 || e.residual ||
      (e.activation != Activation::NONE && !is_relu))
    return launch(finish_of(p));
  launch(Biased{e.alpha, is_relu ? 0 : -std::numeric_limits<float>::infinity(), e.bias, p.N});
}

inline void launch_split_k_and_finish(const Gemm<float, float>& p) {
  with_finish(p, [&](const auto& finish) { split_k::launch_and_finish(p, finish); });
}

}  // namespace ladder::library
