#include "every_kernel.h"

extern "C" int first() {
  return 1;
}
