#include "04d_register_banks.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"through_shared", ladder::register_banks::gemm_through_shared},
          {"there_and_back", ladder::register_banks::gemm_there_and_back},
          {"swapped", ladder::register_banks::gemm_swapped},
          {"register_banks", ladder::register_banks::gemm},
      },
      argc, argv);
}
