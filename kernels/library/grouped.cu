// A batch in one launch of 21, and one before it.
#include "../21_grouped.cuh"
#include "launch.h"

namespace ladder::library {

static __global__ void ends_kernel(int* ends, int count, int rows) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) ends[i] = (i + 1) * rows;
}

void launch_batch(Gemm<half, half> p, int count, int* ends) {
  constexpr int THREADS = 128;
  launch(ends_kernel, dim3(ceil_div(count, THREADS)), dim3(THREADS), 0, p.stream, ends, count, p.M);
  p.M *= count;
  p.groups = {count, ends, nullptr};
  grouped::gemm(p);
}

}  // namespace ladder::library
