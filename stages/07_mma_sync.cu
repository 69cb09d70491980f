#include "07_mma_sync.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<half, half>({STAGE_NAME, STAGE_ARCHITECTURE},
                                  {
                                      {"unswizzled", mma_sync::gemm_unswizzled},
                                      {"two_buffers", mma_sync::gemm_two_buffers},
                                      {"mma_sync", mma_sync::gemm},
                                  },
                                  argc, argv);
}
