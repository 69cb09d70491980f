#pragma once
// LayerNorm and a linear layer behind it: what stage 23c computes.
#include <cstdint>

#include "types.cuh"

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

}  // namespace ladder
