#include "exercise.h"

// Blocks of 32 x 8 threads, one for each tile of 8 rows and 32 columns.
static __global__ void scale_kernel(int rows, int columns, float factor, const float* in, int ld_in,
                                    float* out, int ld_out) {
  // Your code.
}
