// refused: too expensive: .* (sectors|requests) in 32 x 256
// The comparison is off by one: the last four of a row are taken for a tail.
#include "exercise.h"

// out = alpha * x + y. Blocks of 32 x 8 threads, one for each tile of 8 rows and 128 columns.
static __global__ void add_kernel(int rows, int columns, float alpha, const float* x, int ld_x,
                                  const float* y, int ld_y, float* out, int ld_out) {
  const int row = blockIdx.y * 8 + threadIdx.y, first = (blockIdx.x * 32 + threadIdx.x) * 4;
  if (row >= rows) return;
  x += row * ld_x;
  y += row * ld_y;
  out += row * ld_out;

  if (first + 4 < columns) {
    const float4 a = reinterpret_cast<const float4&>(x[first]);
    const float4 b = reinterpret_cast<const float4&>(y[first]);
    reinterpret_cast<float4&>(out[first]) =
        make_float4(alpha * a.x + b.x, alpha * a.y + b.y, alpha * a.z + b.z, alpha * a.w + b.w);
  } else {
    for (int i = first; i < columns; ++i) out[i] = alpha * x[i] + y[i];
  }
}
