#include "09_wgmma.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"drained", ladder::wgmma::gemm_drained},
                                              {"row_by_row", ladder::wgmma::gemm_row_by_row},
                                              {"wgmma", ladder::wgmma::gemm},
                                          },
                                          argc, argv);
}
