#include "10_warp_specialized.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"fixed_registers", ladder::warp_specialized::gemm_fixed_registers},
          {"warp_specialized", ladder::warp_specialized::gemm},
      },
      argc, argv);
}
