#include "09_wgmma.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"drained", ladder::wgmma::gemm_drained},
                                              {"wgmma", ladder::wgmma::gemm},
                                          },
                                          argc, argv);
}
