#include "05_cp_async.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"two_buffers", ladder::cp_async::gemm_two_buffers},
          {"eight_buffers", ladder::cp_async::gemm_eight_buffers},
          {"bk_16", ladder::cp_async::gemm_bk_16},
          {"cp_async", ladder::cp_async::gemm},
      },
      argc, argv);
}
