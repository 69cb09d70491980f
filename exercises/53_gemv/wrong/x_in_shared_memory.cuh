// refused: too expensive: .*shared bytes in 4 x 2048
// Each block copies x into shared memory, to read each number of it once.
#include "exercise.h"

static __device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(~0u, value, distance);
  return value;  // lane 0 has the sum
}

// y = A * x. One block of 256 threads for each row of A.
static __global__ void gemv_kernel(int columns, const float* A, int lda, const float* x, float* y) {
  __shared__ float sums[8];  // of the warps
  const int row = blockIdx.x, thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* const a = A + row * lda;

  __shared__ float copy[5632];
  for (int i = thread; i < columns; i += 256) copy[i] = x[i];
  __syncthreads();

  float sum = 0;
#pragma unroll 8
  for (int i = thread; i < columns / 4; i += 256) {
    const float4 v = reinterpret_cast<const float4*>(a)[i];
    const float4 w = reinterpret_cast<const float4*>(copy)[i];
    sum += v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
  }
  const int last = columns / 4 * 4 + thread;
  if (last < columns) sum += a[last] * copy[last];

  sum = warp_sum(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < 8 ? sums[lane] : 0.0f);
    if (lane == 0) y[row] = sum;
  }
}
