#include "fused.cuh"

template void ladder::library::launch_fused(const tuned::Candidate&, const Gemm<bf16, bf16>&);
