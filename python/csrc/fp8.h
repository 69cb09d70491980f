#pragma once
// Products of e4m3 with scales, by 17 and 17b, compiled by nvcc in fp8_kernels.cu.
#include <ladder/scaled.h>

namespace gemm_ladder {

// Throws what scaled::gemm throws.
void multiply(const ladder::scaled::Problem& problem, ladder::scaled::Adds adds);

}  // namespace gemm_ladder
