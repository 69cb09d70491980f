// refused: too expensive: .*barriers in 4 x 4096
// All 512 sums go through shared memory, with a barrier for each halving.
#include "exercise.h"

static __global__ void row_sums_kernel(int columns, const float* in, int ld, float* out) {
  __shared__ float sums[512];
  const int row = blockIdx.x, thread = threadIdx.x;
  const float* const begin = in + row * ld;
  const float4* const quads = reinterpret_cast<const float4*>(begin);

  float sum = 0;
#pragma unroll 4
  for (int i = thread; i < columns / 4; i += 512) {
    const float4 v = quads[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  if (thread < columns % 4) sum += begin[columns / 4 * 4 + thread];

  sums[thread] = sum;
  for (int distance = 256; distance > 0; distance /= 2) {
    __syncthreads();
    if (thread < distance) sums[thread] += sums[thread + distance];
  }
  if (thread == 0) out[row] = sums[0];
}
