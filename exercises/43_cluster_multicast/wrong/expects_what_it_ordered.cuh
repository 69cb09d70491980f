// refused: told to expect too few bytes
// A block expects the bytes that it has ordered. The other half lands here, too.
#include "exercise.h"

constexpr int ROWS = 32, COLUMNS = 64;  // of a tile

struct Shared {
  half own[ROWS][COLUMNS];
  half common[ROWS][COLUMNS];
  uint64_t full;
};

// Clusters of two blocks of 128 threads. Block b: out's tile b is own's tile b plus common's tile
// b / 2. map_own has boxes of 32 rows, map_common boxes of 16.
static __global__ void add_kernel(const __grid_constant__ CUtensorMap map_own,
                                  const __grid_constant__ CUtensorMap map_common, float* out) {
  Shared& s = dynamic_shared<Shared>();
  const int rank = blockIdx.x % 2, pair = blockIdx.x / 2;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_sync();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.own + sizeof s.common / 2);
    ptx::tma_load(s.own, &map_own, 0, blockIdx.x * ROWS, &s.full);
    const int half_row = rank * ROWS / 2;
    ptx::tma_load_multicast(s.common[half_row], &map_common, 0, pair * ROWS + half_row, &s.full, 3);
  }
  ptx::mbarrier_wait_parity(&s.full, 0);
  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x) {
    const int row = i / COLUMNS, column = i % COLUMNS, at = column ^ row % 8 * 8;
    out[blockIdx.x * ROWS * COLUMNS + i] =
        __half2float(s.own[row][at]) + __half2float(s.common[row][at]);
  }
}
