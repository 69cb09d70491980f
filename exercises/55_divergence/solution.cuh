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
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sensor = warp % 2;
  const int i = blockIdx.x * 256 + warp / 2 * 64 + lane / 16 * 32 + sensor * 16 + lane % 16;
  if (i >= n) return;
  if (sensor == 0)
    out[i] = first_sensor(in[i], a);
  else
    out[i] = second_sensor(in[i], b);
}
