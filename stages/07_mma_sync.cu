#include "07_mma_sync.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"unswizzled", ladder::mma_sync::gemm_unswizzled},
                                              {"two_buffers", ladder::mma_sync::gemm_two_buffers},
                                              {"mma_sync", ladder::mma_sync::gemm},
                                          },
                                          argc, argv);
}
