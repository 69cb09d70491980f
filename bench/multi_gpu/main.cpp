// All variants of all stages, in one process.
#include "run.h"

int main(int argc, char** argv) {
  return ladder::multi_gpu::run("multi_gpu", {}, argc, argv);
}
