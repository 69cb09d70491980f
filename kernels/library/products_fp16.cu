#include "products.cuh"

template void ladder::library::launch_product(const tuned::Candidate&, const Gemm<half, half>&);
