#include "fused.cuh"

template void ladder::library::launch_fused(const tuned::Candidate&, const Gemm<half, half>&);
