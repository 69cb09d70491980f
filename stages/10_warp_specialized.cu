#include "10_warp_specialized.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"warp_specialized", ladder::warp_specialized::gemm},
                                          },
                                          argc, argv);
}
