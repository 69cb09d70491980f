#include "exercise.h"

constexpr float NOTHING = -INFINITY;  // as a maximum, and exp of it is 0

// The largest value of the block's 256 threads, for all of them.
static __device__ float block_max(float value) {
  __shared__ float of_warps[8];
  for (int bit = 16; bit > 0; bit /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, bit));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warps[0];
  for (int warp = 1; warp < 8; ++warp) value = fmaxf(value, of_warps[warp]);
  return value;
}

// The sum of them.
static __device__ float block_sum(float value) {
  __shared__ float of_warps[8];
  for (int bit = 16; bit > 0; bit /= 2) value += __shfl_xor_sync(~0u, value, bit);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warps[0];
  for (int warp = 1; warp < 8; ++warp) value += of_warps[warp];
  return value;
}

// One block of 256 threads for each row. columns <= 1024 * QUADS.
template <int QUADS>
static __global__ void softmax_kernel(int columns, const float* in, int ld_in, float* out,
                                      int ld_out) {
  const float* const from = in + blockIdx.x * ld_in;
  float* const to = out + blockIdx.x * ld_out;
  const int thread = threadIdx.x, whole = columns / 4, last = whole * 4 + thread;

  // The thread's part of the row: QUADS times four numbers, and perhaps one of the tail.
  float4 v[QUADS];
#pragma unroll
  for (int i = 0; i < QUADS; ++i)
    v[i] = thread + i * 256 < whole ? reinterpret_cast<const float4*>(from)[thread + i * 256]
                                    : make_float4(NOTHING, NOTHING, NOTHING, NOTHING);
  float tail = last < columns ? from[last] : NOTHING;

  float most = tail;
#pragma unroll
  for (int i = 0; i < QUADS; ++i)
    most = fmaxf(most, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
  most = block_max(most);

  float sum = tail = __expf(tail - most);
#pragma unroll
  for (int i = 0; i < QUADS; ++i) {
    v[i] = make_float4(__expf(v[i].x - most), __expf(v[i].y - most), __expf(v[i].z - most),
                       __expf(v[i].w - most));
    sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
  }
  const float factor = 1 / block_sum(sum);

#pragma unroll
  for (int i = 0; i < QUADS; ++i)
    if (thread + i * 256 < whole)
      reinterpret_cast<float4*>(to)[thread + i * 256] =
          make_float4(v[i].x * factor, v[i].y * factor, v[i].z * factor, v[i].w * factor);
  if (last < columns) to[last] = tail * factor;
}
