#include "11_persistent.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"forward", ladder::persistent::gemm_forward},
                                              {"persistent", ladder::persistent::gemm},
                                          },
                                          argc, argv);
}
