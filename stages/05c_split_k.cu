#include "05c_split_k.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"split_k", ladder::split_k::gemm, ladder::split_k::workspace_bytes},
      },
      argc, argv);
}
