#include "10b_cluster.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"own_reads", ladder::cluster::gemm_own_reads},
                                              {"cluster", ladder::cluster::gemm},
                                          },
                                          argc, argv);
}
