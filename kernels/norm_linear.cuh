#pragma once
// LayerNorm and a linear layer behind it: what stage 23c computes, and how its W is prepared.
#include <cstdint>
#include <stdexcept>

#include "launch.cuh"
#include "parts/sixteen_bits.cuh"
#include "types.cuh"
#include "validate.h"

namespace ladder {

// Y = LayerNorm(X) * W + bias, where W, its column sums and the bias are folded: product has X as
// its A, W as its B and Y as its C, and no epilogue.
template <class T>
struct NormLinear {
  Gemm<T, T> product;
  const float *sums, *bias;  // a number for each column of W
  float epsilon = 1e-5f;
};

// What a model has. All of it in device memory; W is K x N, gain and shift have a number for each
// row of it, bias for each column.
template <class T>
struct Unfolded {
  int K, N;
  const T* W;
  int64_t ld;  // of W, folded or not
  const T *gain, *shift, *bias;
};

namespace norm_linear {

constexpr int THREADS = 128;

// A thread for each column. The sums are those of the rounded numbers, by which is multiplied.
template <class T>
__global__ void __launch_bounds__(THREADS)
    fold_kernel(const Unfolded<T> from, T* W, float* sums, float* bias) {
  const int n = blockIdx.x * THREADS + threadIdx.x;
  if (n >= from.N) return;
  float sum = 0, shifted = as_float(from.bias[n]);
  for (int k = 0; k < from.K; ++k) {
    const float weight = as_float(from.W[k * from.ld + n]);
    const T folded = rounded<T>(as_float(from.gain[k]) * weight);
    W[k * from.ld + n] = folded;
    sum += as_float(folded);
    shifted += as_float(from.shift[k]) * weight;
  }
  sums[n] = sum, bias[n] = shifted;
}

}  // namespace norm_linear

// Once for a model: W, sums and bias for NormLinear.
template <class T>
void fold(const Unfolded<T>& from, T* W, float* sums, float* bias, cudaStream_t stream) {
  launch(norm_linear::fold_kernel<T>, dim3(ceil_div(from.N, norm_linear::THREADS)),
         dim3(norm_linear::THREADS), 0, stream, from, W, sums, bias);
}

}  // namespace ladder
