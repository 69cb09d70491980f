#include "22_unfused.cuh"
#include "attention/run.h"

int main(int argc, char** argv) {
  using namespace ladder::unfused;
  return ladder::attention_bench::run(
      "22_unfused", {{"unfused", attention, workspace_bytes, /*divides_first*/ true}}, argc, argv);
}
