#include "03_transposed_b.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"conflicted", ladder::transposed_b::gemm_conflicted},
          {"padded", ladder::transposed_b::gemm_padded},
          {"shallow", ladder::transposed_b::gemm_shallow},
          {"transposed_b", ladder::transposed_b::gemm},
      },
      argc, argv);
}
