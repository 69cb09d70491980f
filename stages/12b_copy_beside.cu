#include "multi_gpu/run.h"

int main(int argc, char** argv) {
  return ladder::multi_gpu::run("12b_copy_beside", {"12 sequence", "12b"}, argc, argv);
}
