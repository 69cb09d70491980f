#include <ladder/24b_many_rows.cuh>

#include "int4.h"

namespace gemm_ladder {

void multiply(const ladder::FourBits<half>& problem) {
  ladder::many_rows::gemm(problem);
}
void multiply(const ladder::FourBits<ladder::bf16>& problem) {
  ladder::many_rows::gemm(problem);
}

}  // namespace gemm_ladder
