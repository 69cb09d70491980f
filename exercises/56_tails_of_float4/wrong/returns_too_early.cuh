// refused: wrong result: out .* is NaN
// The thread that should do the tail has left.
#include "exercise.h"

// out = factor * in, n floats. Blocks of 256 threads, a thread for each four floats, rounded up.
static __global__ void scale_kernel(int n, float factor, const float* in, float* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n / 4) return;
  if (i < n / 4) {
    const float4 v = reinterpret_cast<const float4*>(in)[i];
    reinterpret_cast<float4*>(out)[i] =
        make_float4(factor * v.x, factor * v.y, factor * v.z, factor * v.w);
  } else {
    for (int k = 4 * i; k < n; ++k) out[k] = factor * in[k];
  }
}
