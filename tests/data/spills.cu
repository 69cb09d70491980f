// A kernel that cannot keep its values in registers: the build must say so.
__global__ void __launch_bounds__(1024, 2) spilling_kernel(float* p) {
  float values[64];
  for (int i = 0; i < 64; ++i) values[i] = p[i * threadIdx.x];
  __syncthreads();
  for (int i = 0; i < 64; ++i) p[i + threadIdx.x] = values[i] * values[63 - i];
}
