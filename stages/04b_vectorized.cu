#include "04b_vectorized.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(ladder::STAGE,
                                            {
                                                {"scalar", ladder::vectorized::gemm_scalar},
                                                {"vectorized", ladder::vectorized::gemm},
                                            },
                                            argc, argv);
}
