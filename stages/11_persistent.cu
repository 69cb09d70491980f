#include "11_persistent.cuh"
#include "harness/harness.h"

int main(int argc, char** argv) {
  return harness::run<half, half>({STAGE_NAME, STAGE_ARCHITECTURE},
                                  {{"persistent", persistent::gemm}}, argc, argv);
}
