#include "06_wmma.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"wmma_global", ladder::wmma::gemm_global},
                                              {"unpadded", ladder::wmma::gemm_unpadded},
                                              {"wmma", ladder::wmma::gemm},
                                          },
                                          argc, argv);
}
