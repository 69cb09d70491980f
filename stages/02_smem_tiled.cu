#include "02_smem_tiled.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<float, float>({STAGE_NAME, STAGE_ARCHITECTURE},
                                    {
                                        {"smem_tiled", smem_tiled::gemm},
                                    },
                                    argc, argv);
}
