#include "10_warp_specialized.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<half, half>({STAGE_NAME, STAGE_ARCHITECTURE},
                                  {
                                      {"warp_specialized", warp_specialized::gemm},
                                  },
                                  argc, argv);
}
