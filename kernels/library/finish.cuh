#pragma once
// The kernels without wgmma, with an epilogue: 07b, 05c, 05d and 05e.
#include "../parts/epilogue.cuh"

namespace ladder::library {

// The activations that are more than an instruction or two. Not inlined: a thread of 05b has 128
// places for them. In fp32 they are no approximations, for 24 bits show the 2^-11 of tanh.approx.
template <class T>
__device__ __noinline__ float activated(float x, Activation activation) {
  if (activation == Activation::GELU_ERF) return ErfGate{}(x);
  if constexpr (sizeof(T) == 2) {
    constexpr TanhGate gelu = GELU, silu = SILU;
    return activation == Activation::GELU ? gelu(x) : silu(x);
  }
  if (activation == Activation::SILU) return x / (1 + expf(-x));
  constexpr float LARGE = 1e30f;  // as in TanhGate
  const float h = 0.5f * x;
  return h * tanhf(x * (GELU.linear + GELU.cubic * fminf(x * x, LARGE))) + h;
}

// The epilogue of their sums, neighbours in a row. Element by element: matrices may begin anywhere.
// What is loaded for a sum that is not there belongs to another one.
template <class T>
struct Finish {
  Epilogue<T> e;
  int M, N;

  // 07b has two, 64 times in a thread: not inlined, for that would take minutes to compile,
  __device__ __forceinline__ void operator()(float* v, int m, int n) const {
    const float2 both = two(make_float2(v[0], v[1]), m, n);
    v[0] = both.x, v[1] = both.y;
  }
  // the others have four,
  __device__ __forceinline__ float4 operator()(float4 v, int m, int n) const {
    float sums[4] = {v.x, v.y, v.z, v.w};
    finish(sums, m, n);
    return make_float4(sums[0], sums[1], sums[2], sums[3]);
  }
  // and 05c, where it adds parts, one.
  __device__ __forceinline__ float operator()(float v, int m, int n) const {
    float sum[1] = {v};
    finish(sum, m, n);
    return sum[0];
  }

 private:
  __device__ __noinline__ float2 two(float2 v, int m, int n) const {
    float sums[2] = {v.x, v.y};
    finish(sums, m, n);
    return make_float2(sums[0], sums[1]);
  }
  template <int COUNT>
  __device__ __forceinline__ void finish(float (&v)[COUNT], int m, int n) const {
    m = min(m, M - 1);
    int at[COUNT];
    const auto each = [&](const auto& function) {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) v[i] = function(v[i], at[i]);
    };
#pragma unroll
    for (int i = 0; i < COUNT; ++i) at[i] = min(n + i, N - 1);
    const float factor = e.row_scale ? e.alpha * e.row_scale[m] : e.alpha;
    each([&](float x, int) { return x * factor; });
    if (e.column_scale) each([&](float x, int n) { return x * e.column_scale[n]; });
    if (e.beta != 0) {
      const T* const row = e.addend + m * e.ld_addend;
      each([&](float x, int n) { return x + e.beta * static_cast<float>(row[n]); });
    }
    if (e.bias) each([&](float x, int n) { return x + static_cast<float>(e.bias[n]); });
    if (e.activation == Activation::RELU)
      each([](float x, int) { return Clamp{0}(x); });
    else if (e.activation != Activation::NONE)
      each([&](float x, int) { return activated<T>(x, e.activation); });
    if (e.residual) {
      const T* const row = e.residual + m * e.ld_residual;
      each([&](float x, int n) { return x + static_cast<float>(row[n]); });
    }
  }
};
template <class T>
Finish<T> finish_of(const Gemm<T, T>& p) {
  return {p.epilogue, p.M, p.N};
}

}  // namespace ladder::library
