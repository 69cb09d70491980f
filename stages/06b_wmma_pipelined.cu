#include "06b_wmma_pipelined.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"small_tile", ladder::wmma_pipelined::gemm_small_tile},
          {"wmma_pipelined", ladder::wmma_pipelined::gemm},
      },
      argc, argv);
}
