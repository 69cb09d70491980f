#include "layouts.cuh"

template void ladder::library::launch_layout(const tuned::Candidate&, const Gemm<half, half>&);
