#include "10b_cluster.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<half, half>(ladder::STAGE, {{"cluster", ladder::cluster::gemm}}, argc,
                                          argv);
}
