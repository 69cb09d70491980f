#include "04_register_blocked.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<float, float>({STAGE_NAME, STAGE_ARCHITECTURE},
                                    {
                                        {"strip", register_blocked::gemm_strip},
                                        {"scalar", register_blocked::gemm_scalar},
                                        {"vectorized", register_blocked::gemm_vectorized},
                                        {"warp_tiled", register_blocked::gemm_warp_tiled},
                                        {"register_blocked", register_blocked::gemm},
                                    },
                                    argc, argv);
}
