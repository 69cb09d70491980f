#include "08_tma.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<half, half>({STAGE_NAME, STAGE_ARCHITECTURE},
                                  {
                                      {"tma", tma::gemm},
                                  },
                                  argc, argv);
}
