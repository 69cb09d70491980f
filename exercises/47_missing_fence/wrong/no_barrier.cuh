// refused: race: wgmma or TMA reads what another thread has written
// All threads fence, and nobody waits for them.
#include "exercise.h"

constexpr int ROWS = 32, COLUMNS = 64;  // of a box

struct Shared {
  half box[ROWS][COLUMNS];
  uint64_t full;
};

// A block for each box: out = factor * in. TMA brings the box, the threads change it where it lies,
// TMA takes it away.
static __global__ void scale_kernel(float factor, const __grid_constant__ CUtensorMap map_in,
                                    const __grid_constant__ CUtensorMap map_out) {
  Shared& s = dynamic_shared<Shared>();
  const int row0 = blockIdx.y * ROWS, column0 = blockIdx.x * COLUMNS;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.box);
    ptx::tma_load(s.box, &map_in, column0, row0, &s.full);
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full, 0);

  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x) {
    half& x = s.box[i / COLUMNS][i % COLUMNS];
    x = __float2half(factor * __half2float(x));
  }
  ptx::fence_proxy_async();
  if (threadIdx.x == 0) {
    ptx::tma_store(&map_out, column0, row0, s.box);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();
  }
}
