#include "08_tma.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"three_buffers", ladder::tma::gemm_three_buffers},
                                              {"tma", ladder::tma::gemm},
                                          },
                                          argc, argv,
                                          {
                                              {"two_buffers", ladder::tma::gemm_two_buffers},
                                          });
}
