#include "02_smem_tiled.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(ladder::STAGE,
                                            {
                                                {"smem_tiled", ladder::smem_tiled::gemm},
                                            },
                                            argc, argv);
}
