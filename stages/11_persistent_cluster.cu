#include "11_persistent_cluster.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<half, half>({STAGE_NAME, STAGE_ARCHITECTURE},
                                  {
                                      {"alone", persistent_cluster::gemm_alone},
                                      {"persistent_cluster", persistent_cluster::gemm},
                                  },
                                  argc, argv);
}
