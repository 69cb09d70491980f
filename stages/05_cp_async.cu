#include "05_cp_async.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<float, float>({STAGE_NAME, STAGE_MIN_SM},
                                    {
                                        {"cp_async", cp_async::gemm},
                                    },
                                    argc, argv);
}
