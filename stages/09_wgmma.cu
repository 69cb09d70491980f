#include "09_wgmma.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<half, half>({STAGE_NAME, STAGE_ARCHITECTURE},
                                  {
                                      {"drained", wgmma::gemm_drained},
                                      {"wgmma", wgmma::gemm},
                                  },
                                  argc, argv);
}
