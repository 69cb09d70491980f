#pragma once
// What may be done with a product before it is stored. Plain C++: it needs no CUDA header.
#include <cstdint>
#include <stdexcept>
#include <string>

namespace ladder {

// GELU by its approximation with tanh, GELU_ERF by its definition: x times the share of the normal
// distribution below x. SILU is x / (1 + exp(-x)).
enum class Activation { NONE, RELU, GELU, GELU_ERF, SILU };

// C = activation(alpha * row_scale[m] * column_scale[n] * (A * B) + beta * addend + bias[n])
//     + residual
// in fp32, rounded once. What is null is left out. alpha = 0 is a factor like any other: it makes
// NaN of an infinity or a NaN of the product. Leading dimensions in elements. Where C is int8
// it is round(alpha * column_scale[n] * (A * B)) + zero_point, cut to -128 .. 127, ties to even.
template <class T>
struct Epilogue {
  float alpha = 1;                           // a factor of all of it
  const float* row_scale = nullptr;          // M
  const float* column_scale = nullptr;       // N
  float beta = 0;                            // with 0 the addend is not read
  const T* addend = nullptr;                 // M x N; may be C, which it is in BLAS
  int64_t ld_addend = 0;                     // elements from one row of it to the next
  const T* bias = nullptr;                   // N
  Activation activation = Activation::NONE;  // none: x stays as it is
  const T* residual = nullptr;               // M x N
  int64_t ld_residual = 0;                   // elements from one row of it to the next
  int zero_point = 0;                        // of int8: -128 to 127
};

// Whether C = A * B is all that is asked for.
template <class T>
bool is_product_alone(const Epilogue<T>& e) {
  return e.alpha == 1 && !e.row_scale && !e.column_scale && e.beta == 0 && !e.bias &&
         e.activation == Activation::NONE && !e.residual && e.zero_point == 0;
}

}  // namespace ladder
