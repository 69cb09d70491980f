#include "06_wmma.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<half, half>({STAGE_NAME, STAGE_ARCHITECTURE},
                                  {
                                      {"wmma_global", wmma::gemm_global},
                                      {"unpadded", wmma::gemm_unpadded},
                                      {"shallow", wmma::gemm_shallow},
                                      {"wmma", wmma::gemm},
                                  },
                                  argc, argv);
}
