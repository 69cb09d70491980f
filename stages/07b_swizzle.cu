#include "07b_swizzle.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"unswizzled", ladder::swizzle::gemm_unswizzled},
                                              {"two_buffers", ladder::swizzle::gemm_two_buffers},
                                              {"swizzle", ladder::swizzle::gemm},
                                          },
                                          argc, argv);
}
