#pragma once
// Operations on the rows of a matrix: what the stages from 23 on compute, and what they refuse.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "launch.cuh"
#include "types.cuh"
#include "validate.h"

namespace ladder {

// What becomes of a row x of `width` numbers:
//   SOFTMAX          e^x / sum(e^x)
//   RMS_NORM         x / sqrt(mean(x^2) + epsilon) * gain
//   LAYER_NORM       (x - mean(x)) / sqrt(variance(x) + epsilon) * gain + bias
//   LAYER_NORM_GELU  GELU, by its approximation with tanh, of that
//   CROSS_ENTROPY    one number, log(sum(e^x)) - x[target]
enum class RowOperation { SOFTMAX, RMS_NORM, LAYER_NORM, LAYER_NORM_GELU, CROSS_ENTROPY };

// Y = operation(X), row by row. Row-major, without gaps: X and Y are rows x width. T is float or
// bf16; sums are fp32. Y may be X. CROSS_ENTROPY has targets and losses instead of Y.
template <class T>
struct Rows {
  RowOperation operation;
  int rows, width;
  const T* X;
  T* Y;
  const T *gain = nullptr, *bias = nullptr;  // a number for each column
  float epsilon = 1e-5f;
  cudaStream_t stream = nullptr;
  // A number for each row. A target below 0 has the loss 0: training leaves such a row out. A
  // target that is no column has the loss NaN.
  const int* targets = nullptr;
  float* losses = nullptr;
};

inline bool has_bias(RowOperation operation) {
  return operation == RowOperation::LAYER_NORM || operation == RowOperation::LAYER_NORM_GELU;
}
inline bool has_gain(RowOperation operation) {
  return operation == RowOperation::RMS_NORM || has_bias(operation);
}

// Throws std::invalid_argument that names what is wrong. Then: whether there is nothing to do.
template <class T>
bool done_without_kernel(const Rows<T>& p) {
  require_size("rows", p.rows, 0), require_size("width", p.width, 1);
  if (!(p.epsilon > 0)) throw std::invalid_argument("epsilon must be positive");
  if (p.rows == 0) return true;
  const auto there = [](const char* what, const void* address, bool needed) {
    if (needed && address == nullptr)
      throw std::invalid_argument(std::string(what) + " is null, but the operation needs it");
  };
  const bool to_losses = p.operation == RowOperation::CROSS_ENTROPY;
  there("X", p.X, true), there("Y", p.Y, !to_losses);
  there("targets", p.targets, to_losses), there("losses", p.losses, to_losses);
  there("gain", p.gain, has_gain(p.operation)), there("bias", p.bias, has_bias(p.operation));
  return false;
}

}  // namespace ladder
