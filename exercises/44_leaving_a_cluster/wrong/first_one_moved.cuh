// refused: reads shared memory that this block has not written
// The only meeting is moved to the end: nobody knows that the other block has written.
#include "exercise.h"

constexpr int THREADS = 128;

struct Shared {
  float values[THREADS];
};

// Clusters of two blocks: out[i] = in[i] + the number at the same distance from the other end of
// the pair's 256.
static __global__ void mirror_kernel(int n, const float* in, float* out) {
  Shared& s = dynamic_shared<Shared>();
  const int rank = blockIdx.x % 2, i = blockIdx.x * THREADS + threadIdx.x;
  s.values[threadIdx.x] = i < n ? in[i] : 0.0f;
  const float* const other = ptx::shared_of_block(s.values, rank ^ 1);
  const float sum = s.values[threadIdx.x] + other[THREADS - 1 - threadIdx.x];
  ptx::cluster_sync();  // both have read: now a block may leave
  if (i < n) out[i] = sum;
}
