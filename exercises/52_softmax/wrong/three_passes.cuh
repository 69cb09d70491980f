// refused: too expensive: .*load sectors in 4 x 2048
// The row is read for the maximum, for the sum and for the result.
#include "exercise.h"

static __device__ float block_max(float value) {
  __shared__ float of_warps[8];
  for (int bit = 16; bit > 0; bit /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, bit));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warps[0];
  for (int warp = 1; warp < 8; ++warp) value = fmaxf(value, of_warps[warp]);
  return value;
}

static __device__ float block_sum(float value) {
  __shared__ float of_warps[8];
  for (int bit = 16; bit > 0; bit /= 2) value += __shfl_xor_sync(~0u, value, bit);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warps[0];
  for (int warp = 1; warp < 8; ++warp) value += of_warps[warp];
  return value;
}

template <int QUADS>
static __global__ void softmax_kernel(int columns, const float* in, int ld_in, float* out,
                                      int ld_out) {
  const float* const from = in + blockIdx.x * ld_in;
  float* const to = out + blockIdx.x * ld_out;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += 256) most = fmaxf(most, from[i]);
  most = block_max(most);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256) sum += __expf(from[i] - most);
  const float factor = 1 / block_sum(sum);
  for (int i = threadIdx.x; i < columns; i += 256) to[i] = __expf(from[i] - most) * factor;
}
