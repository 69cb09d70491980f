// refused: too expensive: .*load requests in 4096 samples
// Every thread computes both, and takes one of them: no branch, and no less work.
#include "exercise.h"

constexpr int STEPS = 64;  // coefficients of a sensor

static __device__ float first_sensor(float x, const float4* a) {
  float value = 0;
#pragma unroll
  for (int k = 0; k < STEPS / 4; ++k) {
    const float4 c = a[k];
    value = (((value * x + c.x) * x + c.y) * x + c.z) * x + c.w;
  }
  return value;
}

static __device__ float second_sensor(float x, const float4* b) {
  float value = 0;
#pragma unroll
  for (int k = 0; k < STEPS / 4; ++k) {
    const float4 c = b[k];
    value = (((value * c.x + x) * c.y + x) * c.z + x) * c.w + x;
  }
  return value;
}

// Blocks of 256 threads for 256 samples. 16 samples are the first sensor's, 16 the second's, and so
// on. Warps with even numbers take the first sensor's, the others the second's: two warps share 64.
static __global__ void correct_kernel(int n, const float* in, const float4* a, const float4* b,
                                      float* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float first = first_sensor(in[i], a), second = second_sensor(in[i], b);
  out[i] = i / 16 % 2 == 0 ? first : second;
}
