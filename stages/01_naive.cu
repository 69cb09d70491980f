#include "01_naive.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<float, float>({STAGE_NAME, STAGE_ARCHITECTURE},
                                    {
                                        {"uncoalesced", naive::gemm_uncoalesced},
                                        {"naive", naive::gemm},
                                    },
                                    argc, argv);
}
