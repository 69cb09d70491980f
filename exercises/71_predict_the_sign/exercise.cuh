#include "exercise.h"

// As a tensor core reads a float: the last 13 bits are not read.
static __device__ float cut(float x) {
  return __uint_as_float(__float_as_uint(x) & ~0x1FFFu);
}
// As TMA rounds to tf32: to the nearest, and of two as near to the one whose last bit is 0.
static __device__ float rounded(float x) {
  const unsigned bits = __float_as_uint(x);
  return __uint_as_float((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu);
}

// One block of four warps, a product a lane. A double has all bits of a product of floats.
static __global__ void products_kernel(const float* xs, const float* ys, int* cut_is_less,
                                       int* cut_is_more, int* rounded_is_less,
                                       int* rounded_sum_is_nearer) {
  const int i = threadIdx.x, warp = i / 32;
  const float sign_x = warp % 2 == 0 ? 1.0f : -1.0f, sign_y = warp / 2 == 0 ? 1.0f : -1.0f;
  const float x = sign_x * xs[i], y = sign_y * ys[i];

  const double exact = double{x} * y;
  const double of_cut = double{cut(x)} * cut(y), of_rounded = double{rounded(x)} * rounded(y);
  if (of_cut < exact) cut_is_less[i] = 1;
  if (of_cut > exact) cut_is_more[i] = 1;
  if (of_rounded < exact) rounded_is_less[i] = 1;

  // One lane of a warp: how far are the sums of the warp's products from the right one?
  if (i % 32 == 0) {
    double error_of_cut = 0, error_of_rounded = 0;
#pragma unroll 1
    for (int k = i; k < i + 32; ++k) {
      const float x_k = xs[k], y_k = ys[k];
      error_of_cut += double{cut(x_k)} * cut(y_k) - double{x_k} * y_k;
      error_of_rounded += double{rounded(x_k)} * rounded(y_k) - double{x_k} * y_k;
    }
    if (fabs(error_of_rounded) < fabs(error_of_cut) / 2) rounded_sum_is_nearer[i] = 1;
  }
}
