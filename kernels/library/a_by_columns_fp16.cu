#include "layouts.cuh"

template void ladder::library::launch_a_by_columns(const tuned::Candidate&,
                                                   const Gemm<half, half>&);
