#include "07b_swizzle.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"unswizzled", ladder::swizzle::gemm_unswizzled<half>},
          {"two_buffers", ladder::swizzle::gemm_two_buffers<half>},
          {"swizzle", ladder::swizzle::gemm<half>},
      },
      argc, argv);
}
