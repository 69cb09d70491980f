// refused: too expensive: .*store requests of total in 8192
// Each thread adds its sum: 256 additions a block where one is enough.
#include "exercise.h"

static __global__ void total_kernel(int n, const float* in, float* total) {
  const int first = blockIdx.x * 256 + threadIdx.x, threads = gridDim.x * 256;
  float sum = 0;
#pragma unroll 8
  for (int i = first; i < n / 4; i += threads) {
    const float4 v = reinterpret_cast<const float4*>(in)[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  if (first < n % 4) sum += in[n / 4 * 4 + first];
  atomicAdd(total, sum);
}
