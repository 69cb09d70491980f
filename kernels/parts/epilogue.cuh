#pragma once
// Epilogues: what a kernel does with its sums on their way to C, as function objects, of which a
// kernel takes one. The sums are those of a transposed product, as 13 has them: of each eight rows
// by sixteen columns of C a lane has four, v[0] and v[1] of rows lane % 4 * 2 and the one below it
// in column lane / 4, v[2] and v[3] of the same rows eight columns further on.
#include "../launch.cuh"
#include "../ptx/forgotten.cuh"
#include "../ptx/movmatrix.cuh"
#include "../ptx/tanh.cuh"
#include "sixteen_bits.cuh"

namespace ladder {

// C = A * B: nothing is done, and no instruction is left of it.
struct ProductAlone {
  struct Columns {};
  __device__ __forceinline__ Columns columns(int, int, int, int) const { return {}; }
  template <int ROWS>
  __device__ __forceinline__ void piece(float*, int, int, const Columns&, int, int, int, int,
                                        int) const {}
};

// ---- Activations -------------------------------------------------------------------------------

// ReLU with a floor of 0, or none with one below all numbers. What is not a number remains so.
struct Clamp {
  float floor;
  __device__ __forceinline__ float operator()(float x) const { return x < floor ? floor : x; }
};

// x / 2 * (1 + tanh(linear * x + cubic * x^3)): GELU, and SILU, for 1 / (1 + exp(-x)) is
// (1 + tanh(x / 2)) / 2.
struct TanhGate {
  float linear, cubic;
  __device__ __forceinline__ float operator()(float x) const {
    constexpr float LARGE = 1e30f;  // 0 times the square would be no number if that is infinite
    const float h = 0.5f * x;
    return h * ptx::tanh_approx(x * (linear + cubic * fminf(x * x, LARGE))) + h;
  }
};
constexpr TanhGate GELU{0.7978845608f, 0.7978845608f * 0.044715f};  // sqrt(2 / pi)
constexpr TanhGate SILU{0.5f, 0};

struct ErfGate {
  __device__ __forceinline__ float operator()(float x) const {
    const float h = 0.5f * x;
    return h * erff(0.7071067812f * x) + h;  // sqrt(1 / 2)
  }
};

// Calls with(function object) for an activation.
template <class With>
void with_activation(Activation activation, With with) {
  switch (activation) {
    case Activation::NONE:
      return with(Clamp{-__builtin_huge_valf()});
    case Activation::RELU:
      return with(Clamp{0});
    case Activation::GELU:
      return with(GELU);
    case Activation::SILU:
      return with(SILU);
    case Activation::GELU_ERF:
      return with(ErfGate{});
  }
}

// ---- All of it ---------------------------------------------------------------------------------

// Without MATRICES no row_scale, addend or residual: nothing is read but what columns() returns.
template <class T, class Function, bool MATRICES>
struct Fused {
  Epilogue<T> e;
  Function activation;

  // Of a lane's two columns of a tile, and where it finds its part of the matrices.
  struct Columns {
    float factor[2], bias[2];
    const T *addend, *residual;
  };
  // Loads what there is to load: to be called long before it is needed. The tile's rows begin at
  // m0, and the warp's sixteen columns at n0.
  __device__ __forceinline__ Columns columns(int m0, int n0, int N, int lane) const {
    Columns c;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int n = n0 + h * 8 + lane / 4;
      c.factor[h] = e.column_scale && n < N ? e.alpha * e.column_scale[n] : e.alpha;
      c.bias[h] = e.bias && n < N ? as_float(e.bias[n]) : 0.0f;
    }
    const int64_t m = m0 + lane / 4, n = n0 + lane % 4 * 2;
    c.addend = e.addend + m * e.ld_addend + n;
    c.residual = e.residual + m * e.ld_residual + n;
    return c;
  }

  // ROWS rows of the tile, but no more than `rows`, from row0 on; of an M x N matrix.
  template <int ROWS>
  __device__ __forceinline__ void piece(float* acc, int row0, int rows, const Columns& c, int m0,
                                        int n0, int M, int N, int lane) const {
    // No offset of a row is kept from one box of columns for the next: there are not the registers.
    if (MATRICES) row0 = ptx::forgotten(row0);
#pragma unroll
    for (int row = 0; row < ROWS; row += 8)
      if (row < rows) eight_rows(&acc[row / 2], row0 + row, c, m0, n0, M, N, lane);
  }

  // By the factors of rows and columns, and the bias: of eight rows.
  __device__ __forceinline__ void scale(float* v, int row, const Columns& c, int m0, int M,
                                        int lane) const {
    if (MATRICES && e.row_scale != nullptr)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int m = m0 + row + lane % 4 * 2 + i;
        const float factor = m < M ? e.row_scale[m] : 0.0f;
        v[i] *= factor;
        v[2 + i] *= factor;
      }
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = v[i] * c.factor[i / 2] + c.bias[i / 2];
  }

  // v += factor * matrix, of eight rows. A lane loads two neighbours in a row, and movmatrix turns
  // the eight by eight that a warp has then: loading a column's would take one load an element.
  static __device__ __forceinline__ void add(float* v, float factor, const T* from, int columns) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      uint32_t pair = 0;
      if (columns > h * 8 + 1)
        pair = *reinterpret_cast<const uint32_t*>(from + h * 8);
      else if (columns > h * 8)
        pair = *reinterpret_cast<const uint16_t*>(from + h * 8);
      const uint32_t turned = ptx::movmatrix_trans(pair);
#pragma unroll
      for (int i = 0; i < 2; ++i)
        v[h * 2 + i] += factor * as_float(reinterpret_cast<const T(&)[2]>(turned)[i]);
    }
  }

 private:
  __device__ __forceinline__ void eight_rows(float* v, int row, const Columns& c, int m0, int n0,
                                             int M, int N, int lane) const {
    scale(v, row, c, m0, M, lane);
    const bool is_row = m0 + row + lane / 4 < M;
    const int columns = is_row ? N - (n0 + lane % 4 * 2) : 0;  // from this lane's on
    if (MATRICES && e.beta != 0) add(v, e.beta, c.addend + row * e.ld_addend, columns);
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = activation(v[i]);
    if (MATRICES && e.residual != nullptr) add(v, 1, c.residual + row * e.ld_residual, columns);
  }
};

// The same with whichever activation e names, which the kernel learns when it runs: one kernel in
// place of seven. It branches once a piece. With a branch an element 18 took 517 us in place of 374
// (8192x4096x4096, B by columns, with a bias; H200).
template <class T>
struct FusedAny {
  Epilogue<T> e;

  struct Same {
    __device__ __forceinline__ float operator()(float x) const { return x; }
  };
  using Others = Fused<T, Same, true>;
  using Columns = typename Others::Columns;

  __device__ __forceinline__ Columns columns(int m0, int n0, int N, int lane) const {
    return Others{e, {}}.columns(m0, n0, N, lane);
  }
  template <int ROWS>
  __device__ __forceinline__ void piece(float* acc, int row0, int rows, const Columns& c, int m0,
                                        int n0, int M, int N, int lane) const {
    const Others others{e, {}};
    row0 = ptx::forgotten(row0);
#pragma unroll
    for (int row = 0; row < ROWS; row += 8)
      if (row < rows) others.scale(&acc[row / 2], row0 + row, c, m0, M, lane);
    const auto add = [&](float factor, const T* matrix, int64_t ld) {
#pragma unroll
      for (int row = 0; row < ROWS; row += 8)
        if (row < rows) {
          const int left = m0 + row0 + row + lane / 4 < M ? N - (n0 + lane % 4 * 2) : 0;
          Others::add(&acc[row / 2], factor, matrix + (row0 + row) * ld, left);
        }
    };
    if (e.beta != 0) add(e.beta, c.addend, e.ld_addend);
    const auto all = [&](auto function) {
#pragma unroll
      for (int i = 0; i < ROWS / 2; ++i)
        if (i < rows / 2) acc[i] = function(acc[i]);
    };
    switch (e.activation) {
      case Activation::NONE:
        break;
      case Activation::RELU:
        all(Clamp{0});
        break;
      case Activation::GELU:
        all(GELU);
        break;
      case Activation::SILU:
        all(SILU);
        break;
      case Activation::GELU_ERF:
        all(ErfGate{});
        break;
    }
    if (e.residual != nullptr) add(1, c.residual, e.ld_residual);
  }
};

}  // namespace ladder
