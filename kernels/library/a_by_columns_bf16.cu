#include "layouts.cuh"

template void ladder::library::launch_a_by_columns(const tuned::Candidate&,
                                                   const Gemm<bf16, bf16>&);
