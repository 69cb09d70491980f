// refused: deadlock: threads wait here, for a phase of an mbarrier
// Four buffers in place of two: the mistake only comes later.
#include "exercise.h"

constexpr int PIPE = 4;

struct Shared {
  float lines[PIPE][32];
  uint64_t full[PIPE];   // the line is there
  uint64_t empty[PIPE];  // the line has been read
};

// Two warps. The first one brings lines of 32 numbers, the second one writes them backwards.
static __global__ void backwards_kernel(int lines, const float* in, float* out) {
  Shared& s = dynamic_shared<Shared>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0)
    for (int i = 0; i < PIPE; ++i) {
      ptx::mbarrier_init(&s.full[i], 32);
      ptx::mbarrier_init(&s.empty[i], 32);
    }
  __syncthreads();

  for (int t = 0; t < lines; ++t) {
    const int at = t % PIPE, round = t / PIPE;
    if (warp == 0) {
      // In the first round nobody has read anything yet.
      if (round > 0) ptx::mbarrier_wait_parity(&s.empty[at], round % 2);
      s.lines[at][lane] = in[t * 32 + lane];
      ptx::mbarrier_arrive(&s.full[at]);
    } else {
      ptx::mbarrier_wait_parity(&s.full[at], round % 2);
      out[t * 32 + lane] = s.lines[at][31 - lane];
      ptx::mbarrier_arrive(&s.empty[at]);
    }
  }
}
