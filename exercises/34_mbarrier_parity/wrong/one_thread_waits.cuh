// refused: reads shared memory that this block has not written
// Only thread 0 waits.
#include "exercise.h"

constexpr int ROWS = 16, COLUMNS = 64;  // of a box

struct Shared {
  half box[ROWS][COLUMNS];
  uint64_t full;  // the box has landed
};

// TMA swizzles a box: in row r, eight neighbours are exchanged with eight others.
static __device__ half element(const Shared& s, int row, int column) {
  return s.box[row][column ^ row % 8 * 8];
}

// One block of 128 threads: box after box of the map's matrix to out.
static __global__ void copy_kernel(int boxes, const __grid_constant__ CUtensorMap map, half* out) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  for (int t = 0; t < boxes; ++t) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.box);
      ptx::tma_load(s.box, &map, 0, t * ROWS, &s.full);
    }
    if (threadIdx.x == 0) ptx::mbarrier_wait_parity(&s.full, t % 2);
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x)
      out[t * ROWS * COLUMNS + i] = element(s, i / COLUMNS, i % COLUMNS);
    __syncthreads();
  }
}
