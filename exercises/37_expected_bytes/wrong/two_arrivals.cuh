// refused: arrives at an mbarrier whose phase has all its arrivals already
// An arrival for each box, at an mbarrier that is for one.
#include "exercise.h"

constexpr int ROWS = 32, COLUMNS = 64;  // of a box

struct Shared {
  half boxes[2][ROWS][COLUMNS];  // side by side
  uint64_t full;
};

// A block for each tile of 32 rows and 128 columns: out = in.
static __global__ void copy_kernel(int rows, int columns, const __grid_constant__ CUtensorMap map,
                                   half* out, int ld_out) {
  Shared& s = dynamic_shared<Shared>();
  const int row0 = blockIdx.y * ROWS, column0 = blockIdx.x * 2 * COLUMNS;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
    for (int j = 0; j < 2; ++j) {
      ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.boxes[j]);
      ptx::tma_load(s.boxes[j], &map, column0 + j * COLUMNS, row0, &s.full);
    }
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full, 0);
  for (int i = threadIdx.x; i < ROWS * 2 * COLUMNS; i += blockDim.x) {
    const int row = i / (2 * COLUMNS), column = i % (2 * COLUMNS);
    if (row0 + row < rows && column0 + column < columns)
      out[(row0 + row) * ld_out + column0 + column] =
          s.boxes[column / COLUMNS][row][column % COLUMNS ^ row % 8 * 8];
  }
}
