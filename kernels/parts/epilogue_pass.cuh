#pragma once
// An epilogue as a kernel of its own, for a product that is in memory.
#include "../launch.cuh"
#include "epilogue.cuh"
#include "vector_halves.cuh"

namespace ladder::epilogue_pass {

constexpr int WARPS = 8;
constexpr int ROWS = 4;        // of a warp, all of which it asks for before it needs the first
constexpr int STRIP = 8 * 32;  // columns of a warp: 16 bytes a lane

// What a lane has of a row: the first `valid` elements exist.
template <class T>
struct Eight {
  __align__(16) T v[8];
};
template <bool WHOLE, class T>
__device__ __forceinline__ Eight<T> load8(const T* matrix, int64_t ld, int m, int n, int valid) {
  Eight<T> eight;
  if (WHOLE)
    as_uint4(*eight.v) = as_uint4(matrix[m * ld + n]);
  else
    copy8(eight.v, &matrix[m * ld + n], valid);
  return eight;
}

// A lane's eight columns of a warp's rows. WHOLE: all of them exist. Then no load is in a branch of
// its own, behind which it would be waited for.
template <bool WHOLE, class T, class Function>
__device__ __forceinline__ void rows_of_warp(int m0, int n, int rows, int valid, const T* product,
                                             const Epilogue<T>& e, const Function activation, T* C,
                                             int64_t ldc) {
  const Eight<T> bias = e.bias ? load8<WHOLE>(e.bias, 0, 0, n, valid) : Eight<T>{};
  float factor[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    factor[i] = e.column_scale && i < valid ? e.alpha * e.column_scale[n + i] : e.alpha;
  const auto load = [&](Eight<T>(&to)[ROWS], const T* matrix, int64_t ld) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      if (WHOLE || r < rows) to[r] = load8<WHOLE>(matrix, ld, m0 + r, n, valid);
  };
  Eight<T> products[ROWS] = {}, addends[ROWS] = {}, residuals[ROWS] = {};
  if (product) load(products, product, ldc);
  if (e.beta != 0) load(addends, e.addend, e.ld_addend);
  if (e.residual) load(residuals, e.residual, e.ld_residual);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    if (!WHOLE && r >= rows) continue;
    const float row_factor = e.row_scale ? e.row_scale[m0 + r] : 1.0f;
    __align__(16) float v[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      v[i] = as_float(products[r].v[i]) * row_factor * factor[i] + as_float(bias.v[i]);
      if (e.beta != 0) v[i] += e.beta * as_float(addends[r].v[i]);
      v[i] = activation(v[i]);
      if (e.residual) v[i] += as_float(residuals[r].v[i]);
    }
    store8(&C[(m0 + r) * ldc + n], v, valid);
  }
}

// C of a product that is in memory, where `product` may be C, or is null for one of zeros.
template <class T, class Function>
__global__ void __launch_bounds__(WARPS * 32)
    epilogue_kernel(int M, int N, const T* product, const Epilogue<T> e, const Function activation,
                    T* C, int64_t ldc) {
  const int strips = ceil_div(N, STRIP);
  const int n = blockIdx.x % strips * STRIP + threadIdx.x % 32 * 8;
  const int m0 = (blockIdx.x / strips * WARPS + threadIdx.x / 32) * ROWS;
  const int valid = min(8, N - n), rows = min(ROWS, M - m0);
  if (valid == 8 && rows == ROWS)
    rows_of_warp<true>(m0, n, ROWS, 8, product, e, activation, C, ldc);
  else if (valid > 0)
    rows_of_warp<false>(m0, n, rows, valid, product, e, activation, C, ldc);
}

template <class T>
void launch_epilogue(const Gemm<T, T>& p, const T* product) {
  const int blocks = ceil_div(p.N, STRIP) * ceil_div(p.M, WARPS * ROWS);
  with_activation(p.epilogue.activation, [&](auto activation) {
    launch(epilogue_kernel<T, decltype(activation)>, dim3(blocks), dim3(WARPS * 32), 0, p.stream,
           p.M, p.N, product, p.epilogue, activation, p.C, p.ldc);
  });
}

}  // namespace ladder::epilogue_pass
