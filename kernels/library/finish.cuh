#pragma once
// The kernels without wgmma, with an epilogue: 07b, 05c, 05d and 05e.
#include "../parts/epilogue.cuh"

namespace ladder::library {

// GELU and SILU of fp32, whose 24 bits show the 2^-11 of tanh.approx.
__device__ __forceinline__ float exact_gelu(float x) {
  constexpr float LARGE = 1e30f;  // as in TanhGate
  const float h = 0.5f * x;
  return h * tanhf(x * (GELU.linear + GELU.cubic * fminf(x * x, LARGE))) + h;
}
__device__ __forceinline__ float exact_silu(float x) {
  return x / (1 + expf(-x));
}

// The epilogue of their sums, element by element: matrices may begin anywhere.
template <class T>
struct Finish {
  Epilogue<T> e;
  int M, N;

  // 07b has two neighbours in a row, of which not all may be there;
  __device__ __forceinline__ void operator()(float* v, int m, int n) const {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (m < M && n + i < N) v[i] = finished(v[i], m, n + i);
  }
  // the others have four, or one.
  __device__ __forceinline__ float4 operator()(float4 v, int m, int n) const {
    if (n < N) v.x = finished(v.x, m, n);
    if (n + 1 < N) v.y = finished(v.y, m, n + 1);
    if (n + 2 < N) v.z = finished(v.z, m, n + 2);
    if (n + 3 < N) v.w = finished(v.w, m, n + 3);
    return v;
  }
  __device__ __forceinline__ float operator()(float v, int m, int n) const {
    return finished(v, m, n);
  }

 private:
  static constexpr bool IS_EXACT = sizeof(T) == 4;  // whose 24 bits show an approximation
  // Not inlined: the 128 places of a thread would be no constants any more, and its sums in local
  // memory.
  __device__ __noinline__ float finished(float sum, int m, int n) const {
    const float row_factor = e.row_scale ? e.row_scale[m] : 1.0f;
    const float factor = e.column_scale ? e.alpha * e.column_scale[n] : e.alpha;
    float x = sum * row_factor * factor + (e.bias ? static_cast<float>(e.bias[n]) : 0.0f);
    if (e.beta != 0) x += e.beta * static_cast<float>(e.addend[m * e.ld_addend + n]);
    x = activated(x);
    return e.residual ? x + static_cast<float>(e.residual[m * e.ld_residual + n]) : x;
  }
  __device__ __forceinline__ float activated(float x) const {
    constexpr bool IS_EXACT = sizeof(T) == 4;
    constexpr TanhGate gelu = GELU, silu = SILU;
    switch (e.activation) {
      case Activation::RELU:
        return Clamp{0}(x);
      case Activation::GELU:
        return IS_EXACT ? exact_gelu(x) : gelu(x);
      case Activation::SILU:
        return IS_EXACT ? exact_silu(x) : silu(x);
      case Activation::GELU_ERF:
        return ErfGate{}(x);
      default:
        return x;
    }
  }
};
template <class T>
Finish<T> finish_of(const Gemm<T, T>& p) {
  return {p.epilogue, p.M, p.N};
}

}  // namespace ladder::library
