#include "10b_cluster.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<half, half>({STAGE_NAME, STAGE_ARCHITECTURE}, {{"cluster", cluster::gemm}},
                                  argc, argv);
}
