// refused: stray write: A is written although it is an input
// Keeps a number in an element of A that nobody reads any more.
#include "exercise.h"

static __device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(~0u, value, distance);
  return value;  // lane 0 has the sum
}

static __device__ float dot(float4 v, float4 w) {
  return v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
}

// y = A * x. One block of 256 threads for each row of A.
static __global__ void gemv_kernel(int columns, const float* A, int lda, const float* x, float* y) {
  __shared__ float sums[8];  // of the warps
  const int row = blockIdx.x, thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* const a = A + row * lda;

  const float4* const a_quads = reinterpret_cast<const float4*>(a);
  const float4* const x_quads = reinterpret_cast<const float4*>(x);
  const int quads = columns / 4;

  float sum = 0;
  int i = thread;
  for (; i + 3 * 256 < quads; i += 4 * 256) {
    float4 v[4];  // loads first, uses after: several are on their way at a time
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = a_quads[i + 256 * k];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += dot(v[k], x_quads[i + 256 * k]);
  }
#pragma unroll 1  // unrolled, it would need registers that the loop above can use
  for (; i < quads; i += 256) sum += dot(a_quads[i], x_quads[i]);
  const int last = quads * 4 + thread;
  if (last < columns) sum += a[last] * x[last];

  if (last < columns) const_cast<float*>(a)[last] = sum;  // which this thread alone reads
  sum = warp_sum(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < 8 ? sums[lane] : 0.0f);
    if (lane == 0) y[row] = sum;
  }
}
