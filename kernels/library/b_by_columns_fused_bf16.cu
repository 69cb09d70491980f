#include "layouts.cuh"

template void ladder::library::launch_b_by_columns_fused(const tuned::Candidate&,
                                                         const Gemm<bf16, bf16>&);
