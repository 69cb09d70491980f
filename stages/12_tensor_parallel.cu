#include "multi_gpu/run.h"

int main(int argc, char** argv) {
  return ladder::multi_gpu::run("12_tensor_parallel", {"NCCL, cuBLAS", "12 sequence"}, argc, argv);
}
