#include "06c_fragments_ahead.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"shallow", ladder::fragments_ahead::gemm_shallow},
                                              {"fragments_ahead", ladder::fragments_ahead::gemm},
                                          },
                                          argc, argv);
}
