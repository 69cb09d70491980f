#include "01_naive.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(ladder::STAGE,
                                            {
                                                {"uncoalesced", ladder::naive::gemm_uncoalesced},
                                                {"naive", ladder::naive::gemm},
                                            },
                                            argc, argv);
}
