#include "exercise.h"

// The number of 8 bits that is nearest to x, as its bits: of two that are equally near the one
// whose last bit is 0. Beyond 448 it is 448; what is not a number becomes 0x7F.
static __device__ unsigned to_e4m3(float x) {
  return 0;  // Your code.
}

// Given. A thread for each of n numbers.
static __global__ void convert_kernel(int n, const float* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<int>(to_e4m3(in[i]));
}
