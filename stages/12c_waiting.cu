#include "multi_gpu/run.h"

int main(int argc, char** argv) {
  return ladder::multi_gpu::run("12c_waiting", {"12b", "12c"}, argc, argv);
}
