#include "linear.cuh"

template void ladder::library::launch_linear(const tuned::Candidate&, const Gemm<bf16, bf16>&);
