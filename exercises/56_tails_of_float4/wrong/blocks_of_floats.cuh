// refused: too expensive: .*load requests in 4096
// Neighbouring threads have neighbouring floats, but each request brings only 32.
#include "exercise.h"

// out = factor * in, n floats. Blocks of 256 threads, a thread for each four floats, rounded up.
static __global__ void scale_kernel(int n, float factor, const float* in, float* out) {
  const int begin = blockIdx.x * 1024;
  for (int k = begin + threadIdx.x; k < min(begin + 1024, n); k += 256) out[k] = factor * in[k];
}
