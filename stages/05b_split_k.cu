#include "05b_split_k.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<float, float>({STAGE_NAME, STAGE_ARCHITECTURE},
                                    {
                                        {"split_k", split_k::gemm},
                                    },
                                    argc, argv);
}
