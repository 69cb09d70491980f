#pragma once
// What GemmOptions make of a problem before there is a plan for it. Plain C++.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "../gemm.h"
#include "../validate.h"

namespace ladder::library {

// ---- C by columns ------------------------------------------------------------------------------

// C by columns is C^T by rows, which is B^T * A^T: 18's `transposed`, with the scales, too. The
// addend and the residual lie as C does.
template <class In, class Out>
Gemm<In, Out> of_transposed_c(Gemm<In, Out> p) {
  std::swap(p.A, p.B);
  std::swap(p.lda, p.ldb);
  std::swap(p.M, p.N);
  std::swap(p.transposed_a, p.transposed_b);
  p.transposed_a = !p.transposed_a, p.transposed_b = !p.transposed_b;
  std::swap(p.epilogue.row_scale, p.epilogue.column_scale);
  return p;
}
// What require_possible() would name by the names of the other problem. Throws
// std::invalid_argument.
template <class In, class Out>
void require_possible_by_columns(const Gemm<In, Out>& p) {
  Gemm<In, Out> of_any_c = p;
  of_any_c.ldc = INT32_MAX;
  require_valid_sizes(of_any_c);
  const Epilogue<Out>& e = p.epilogue;
  const auto matrix = [&](const char* name, int64_t ld) {
    if (ld < p.M)
      throw std::invalid_argument(std::string(name) + " is " + std::to_string(ld) +
                                  ", but a column has " + std::to_string(p.M) + " elements");
  };
  matrix("ldc", p.ldc);
  if (e.beta != 0 && e.addend) matrix("the leading dimension of the addend", e.ld_addend);
  if (e.residual) matrix("the leading dimension of the residual", e.ld_residual);
  if (e.bias)
    throw std::invalid_argument("there is a bias, which no kernel adds to a C by columns");
}

// ---- Batches -----------------------------------------------------------------------------------

// What is wrong with a batch. Throws std::invalid_argument.
template <class In, class Out>
void require_possible_batch(const Gemm<In, Out>& p, const GemmOptions& options) {
  const Batch& batch = options.batch;
  const auto at_least = [](const char* name, int64_t value, int64_t least, const char* why) {
    if (value < least)
      throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + ", but " +
                                  why);
  };
  at_least("the batch's count", batch.count, 0, "must not be negative");
  if (batch.count <= 1) return;
  at_least("stride_a", batch.stride_a, 0, "must not be negative");
  at_least("stride_b", batch.stride_b, 0, "must not be negative");
  const int width = options.transposed_c ? p.M : p.N;
  if (p.M == 0 || p.N == 0) return;
  const std::string why = std::string(options.transposed_c ? "a column" : "a row") + " of C has " +
                          std::to_string(width) + " elements";
  at_least("stride_c", batch.stride_c, width, why.c_str());
}

// Product i of a batch.
template <class In, class Out>
Gemm<In, Out> product_of(Gemm<In, Out> p, const Batch& batch, int i) {
  p.A += i * batch.stride_a, p.B += i * batch.stride_b, p.C += i * batch.stride_c;
  if (p.epilogue.beta != 0) p.epilogue.addend += i * batch.stride_c;
  if (p.epilogue.residual) p.epilogue.residual += i * batch.stride_c;
  return p;
}

// A problem with the addresses that promise what all of a batch have in common: an address that is
// no multiple of 16 for matrices some of which begin elsewhere.
template <class In, class Out>
Gemm<In, Out> with_promises_of_all(Gemm<In, Out> p, const Batch& batch) {
  const auto promise = [&](auto*& matrix, int64_t stride) {
    using T = std::remove_reference_t<decltype(*matrix)>;
    if (static_cast<uint64_t>(stride) % (16 / sizeof(T)) != 0)
      matrix = reinterpret_cast<T*>(uintptr_t{sizeof(T)});
  };
  if (batch.count <= 1) return p;
  promise(p.A, batch.stride_a), promise(p.B, batch.stride_b), promise(p.C, batch.stride_c);
  if (p.epilogue.beta != 0 && p.epilogue.addend) promise(p.epilogue.addend, batch.stride_c);
  if (p.epilogue.residual) promise(p.epilogue.residual, batch.stride_c);
  return p;
}

}  // namespace ladder::library
