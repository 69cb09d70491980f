#include <ladder/to_float.cuh>

#include "to_float.h"

namespace gemm_ladder {

void multiply(const ladder::Gemm<half, float>& problem) {
  ladder::to_float::gemm(problem);
}
void multiply(const ladder::Gemm<__nv_bfloat16, float>& problem) {
  ladder::to_float::gemm(problem);
}

}  // namespace gemm_ladder
