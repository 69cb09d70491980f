// refused: too expensive: 4096 sectors in 4096
// A thread's four floats are neighbours; the 32 floats of a request are not.
#include "exercise.h"

static __global__ void scale_kernel(int n, float factor, const float* in, float* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  for (int k = 4 * i; k < min(4 * i + 4, n); ++k) out[k] = factor * in[k];
}
