#include "layouts.cuh"

template void ladder::library::launch_layout(const tuned::Candidate&, const Gemm<bf16, bf16>&);
