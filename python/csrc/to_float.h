#pragma once
// Products in fp32 of numbers of 16 bits, compiled by nvcc in to_float_kernels.cu.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ladder/extensions.h>

namespace gemm_ladder {

// Throws what to_float::gemm throws.
void multiply(const ladder::Gemm<half, float>& problem);
void multiply(const ladder::Gemm<__nv_bfloat16, float>& problem);

}  // namespace gemm_ladder
