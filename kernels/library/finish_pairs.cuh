#pragma once
// 07b with an epilogue, for GPUs without wgmma.
#include "../07b_swizzle.cuh"
#include "../parts/epilogue.cuh"

namespace ladder::library {

// The epilogue of 07b's sums, element by element.
struct FinishPairs {
  Epilogue<half> e;
  int M, N;

  __device__ __forceinline__ void operator()(float* v, int m, int n) const {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (m < M && n + i < N) v[i] = finished(v[i], m, n + i);
  }

 private:
  // Not inlined: the 128 places of a thread would be no constants any more, and its sums in local
  // memory.
  __device__ __noinline__ float finished(float sum, int m, int n) const {
    const float row_factor = e.row_scale ? e.row_scale[m] : 1.0f;
    const float factor = e.column_scale ? e.alpha * e.column_scale[n] : e.alpha;
    float x = sum * row_factor * factor + (e.bias ? as_float(e.bias[n]) : 0.0f);
    if (e.beta != 0) x += e.beta * as_float(e.addend[m * e.ld_addend + n]);
    x = activated(x);
    return e.residual ? x + as_float(e.residual[m * e.ld_residual + n]) : x;
  }
  __device__ __forceinline__ float activated(float x) const {
    constexpr TanhGate gelu = GELU, silu = SILU;
    switch (e.activation) {
      case Activation::RELU:
        return Clamp{0}(x);
      case Activation::GELU:
        return gelu(x);
      case Activation::SILU:
        return silu(x);
      case Activation::GELU_ERF:
        return ErfGate{}(x);
      default:
        return x;
    }
  }
};

// Of rows that begin on 16 bytes.
inline void launch_and_finish_pairs(const Gemm<half, half>& p) {
  const FinishPairs finish{p.epilogue, p.M, p.N};
  if (swizzle::three_buffers_fit())
    swizzle::launch_pipe<3, true>(p, finish);
  else
    swizzle::launch_pipe<2, true>(p, finish);
}

}  // namespace ladder::library
