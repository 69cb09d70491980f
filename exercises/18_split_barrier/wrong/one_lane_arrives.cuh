// refused: deadlock: .* phase 0, 4 of 128 arrivals
// One lane a warp arrives, but the mbarrier is for all threads.
#include "exercise.h"

constexpr int THREADS = 128;

// A block has a row of `in`, a thread one number of it. In each of `steps` steps the number becomes
//   x / 2 + push[t][i] + (left + right) / 4
// with its two neighbours before the step; the row is closed to a ring.
static __global__ void relax_kernel(int steps, const float* in, const float* push, float* out) {
  __shared__ float s[2][THREADS];
  __shared__ uint64_t all_stored;
  const int i = threadIdx.x, left = (i + THREADS - 1) % THREADS, right = (i + 1) % THREADS;
  if (i == 0) ptx::mbarrier_init(&all_stored, THREADS);
  __syncthreads();

  float x = in[blockIdx.x * THREADS + i];
  for (int t = 0; t < steps; ++t) {
    s[t % 2][i] = x;
    if (i % 32 == 0) ptx::mbarrier_arrive(&all_stored);
    const float own = x / 2 + push[t * THREADS + i];  // of no other thread
    while (!ptx::mbarrier_test_wait_parity(&all_stored, t % 2)) {
    }
    x = own + (s[t % 2][left] + s[t % 2][right]) / 4;
  }
  out[blockIdx.x * THREADS + i] = x;
}
