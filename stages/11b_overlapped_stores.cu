#include "11b_overlapped_stores.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"by_lanes", ladder::overlapped_stores::gemm_by_lanes},
          {"overlapped_stores", ladder::overlapped_stores::gemm},
      },
      argc, argv);
}
