#include "05_cp_async.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<float, float>({STAGE_NAME, STAGE_ARCHITECTURE},
                                    {
                                        {"bk_16", cp_async::gemm_bk_16},
                                        {"eight_buffers", cp_async::gemm_eight_buffers},
                                        {"cp_async", cp_async::gemm},
                                    },
                                    argc, argv);
}
