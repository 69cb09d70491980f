#include "every_kernel.h"

int first() {
  return 1;
}
