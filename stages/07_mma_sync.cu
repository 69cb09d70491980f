#include "07_mma_sync.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"plain_stores", ladder::mma_sync::gemm_plain_stores},
                                              {"mma_sync", ladder::mma_sync::gemm},
                                          },
                                          argc, argv,
                                          {
                                              {"shallow", ladder::mma_sync::gemm_shallow},
                                          });
}
