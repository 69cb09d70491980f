#include "every_kernel.h"

int second() {
  return 2;
}
