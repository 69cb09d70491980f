#include "multi_gpu/run.h"

int main(int argc, char** argv) {
  return ladder::multi_gpu::run("12d_reduce_scatter", {"12b", "12d"}, argc, argv);
}
