#include "04_register_blocked.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"strip", ladder::register_blocked::gemm_strip},
          {"one_block", ladder::register_blocked::gemm_one_block},
          {"register_blocked", ladder::register_blocked::gemm},
      },
      argc, argv);
}
