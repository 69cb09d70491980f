#include "05b_split_k.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(ladder::STAGE,
                                            {
                                                {"split_k", ladder::split_k::gemm},
                                            },
                                            argc, argv);
}
