#pragma once
// Products by numbers of four bits, of the stages 24 and 24b, compiled by nvcc in int4_kernels.cu.
#include <ladder/four_bits.cuh>

namespace gemm_ladder {

// Throws what many_rows::gemm of 24b throws.
void multiply(const ladder::FourBits<half>& problem);
void multiply(const ladder::FourBits<ladder::bf16>& problem);

}  // namespace gemm_ladder
