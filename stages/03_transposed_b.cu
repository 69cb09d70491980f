#include "03_transposed_b.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<float, float>({STAGE_NAME, STAGE_ARCHITECTURE},
                                    {
                                        {"conflicted", transposed_b::gemm_conflicted},
                                        {"padded", transposed_b::gemm_padded},
                                        {"shallow", transposed_b::gemm_shallow},
                                        {"transposed_b", transposed_b::gemm},
                                    },
                                    argc, argv);
}
