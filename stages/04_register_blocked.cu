#include "04_register_blocked.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"strip", ladder::register_blocked::gemm_strip},
          {"scalar", ladder::register_blocked::gemm_scalar},
          {"vectorized", ladder::register_blocked::gemm_vectorized},
          {"warp_tiled", ladder::register_blocked::gemm_warp_tiled},
          {"register_blocked", ladder::register_blocked::gemm},
      },
      argc, argv);
}
