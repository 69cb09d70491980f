// In place of a stage that the CPU device cannot run.
#include <iostream>

#include "harness/harness.h"

int main() {
  std::cerr << STAGE_NAME
      ": needs a GPU of compute capability 9.0; the CPU device has no TMA and no "
      "wgmma\n";
  return ladder::harness::EXIT_NO_DEVICE;
}
