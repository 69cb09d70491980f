#include "linear.cuh"

template void ladder::library::launch_linear(const tuned::Candidate&, const Gemm<half, half>&);
