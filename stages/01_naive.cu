#include "01_naive.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<float, float>({STAGE_NAME, STAGE_MIN_SM},
                                    {
                                        {"uncoalesced", naive::gemm_uncoalesced},
                                        {"naive", naive::gemm},
                                    },
                                    argc, argv);
}
