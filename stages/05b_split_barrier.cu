#include "05b_split_barrier.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"full_barrier", ladder::split_barrier::gemm_full_barrier},
          {"single_fragments", ladder::split_barrier::gemm_single_fragments},
          {"split_barrier", ladder::split_barrier::gemm},
      },
      argc, argv);
}
