// refused: the driver refuses the map: the stride of dimension 1 is 72
// The distance of rows is given in elements.
#include "exercise.h"

constexpr int ROWS = 32, COLUMNS = 64;  // of a box

struct Shared {
  half box[ROWS][COLUMNS];
  uint64_t full;
};

// On the host: describes `matrix`, whose rows begin ld elements apart, to TMA. `encode` is the
// driver's cuTensorMapEncodeTiled; what it returns is returned.
inline CUresult describe(PFN_cuTensorMapEncodeTiled_v12000 encode, CUtensorMap* map,
                         const half* matrix, int rows, int columns, int64_t ld) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t row_bytes[] = {static_cast<cuuint64_t>(ld)};
  const cuuint32_t box[] = {COLUMNS, ROWS};
  const cuuint32_t steps[] = {1, 1};
  return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<half*>(matrix), sizes,
                row_bytes, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// Given. A block for each box: fetches it, and writes all of it to out, zeros included.
static __global__ void boxes_kernel(const __grid_constant__ CUtensorMap map, half* out,
                                    int ld_out) {
  Shared& s = dynamic_shared<Shared>();
  const int row0 = blockIdx.y * ROWS, column0 = blockIdx.x * COLUMNS;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.box);
    ptx::tma_load(s.box, &map, column0, row0, &s.full);
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full, 0);
  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x) {
    const int row = i / COLUMNS, column = i % COLUMNS;
    out[(row0 + row) * ld_out + column0 + column] = s.box[row][column ^ row % 8 * 8];
  }
}
