#pragma once
// What a launcher refuses, and in which words.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "extensions.h"

namespace ladder {

// Throws std::invalid_argument unless `value` is a multiple of `unit`.
inline void require_multiple(const char* what, uint64_t value, uint64_t unit) {
  if (value % unit != 0)
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) +
                                ", but this kernel needs a multiple of " + std::to_string(unit));
}

// Throws std::invalid_argument unless `value` is from `least` to MAX_DIMENSION.
inline void require_size(const char* what, int value, int least) {
  if (value < least || value > MAX_DIMENSION)
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) +
                                ", but must be from " + std::to_string(least) + " to " +
                                std::to_string(MAX_DIMENSION));
}

// Sizes from 0 to MAX_DIMENSION, leading dimensions no smaller than the width. Throws
// std::invalid_argument that names the offender.
template <class In, class Out>
void require_valid_sizes(const Gemm<In, Out>& p) {
  const auto size = [](const char* name, int64_t value) {
    if (value < 0 || value > MAX_DIMENSION)
      throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                  ", but must be from 0 to " + std::to_string(MAX_DIMENSION));
  };
  size("M", p.M), size("N", p.N), size("K", p.K);
  const auto at_least = [](const char* name, int64_t ld, int width) {
    if (ld < width)
      throw std::invalid_argument(std::string(name) + " is " + std::to_string(ld) +
                                  ", but a row has " + std::to_string(width) + " elements");
  };
  at_least("lda", p.lda, p.transposed_a ? p.M : p.K);
  at_least("ldb", p.ldb, p.transposed_b ? p.K : p.N);
  at_least("ldc", p.ldc, p.N);
}

// And pointers 16-byte aligned. Throws likewise.
template <class In, class Out>
void require_valid_matrices(const Gemm<In, Out>& p) {
  require_valid_sizes(p);
  require_multiple("the address of A", reinterpret_cast<uintptr_t>(p.A), 16);
  require_multiple("the address of B", reinterpret_cast<uintptr_t>(p.B), 16);
  require_multiple("the address of C", reinterpret_cast<uintptr_t>(p.C), 16);
}

// That A and B are stored as all stages take them: row-major, but for B ALONG_K. Throws likewise.
template <class In, class Out>
void require_usual_layout(const Gemm<In, Out>& p) {
  if (p.transposed_a)
    throw std::invalid_argument("A is transposed, K x M, but this kernel needs M x K");
  if (p.transposed_b != ALONG_K<In>)
    throw std::invalid_argument(
        p.transposed_b ? "B is transposed, N x K, but this kernel needs K x N"
                       : "B is K x N, but tensor cores read such numbers along K alone: this "
                         "kernel needs it transposed, N x K");
}

// That there is one product alone. Throws likewise.
template <class In, class Out>
void require_no_groups(const Gemm<In, Out>& p) {
  if (p.groups.count != 0)
    throw std::invalid_argument("there are " + std::to_string(p.groups.count) +
                                " groups, but this kernel computes one product alone");
}

// Whether a stage takes A and B transposed as well as not.
enum class Layouts { USUAL, ANY };

// The contract of every stage that has no epilogue; throws likewise.
template <class In, class Out>
void require_valid(const Gemm<In, Out>& p, Layouts layouts = Layouts::USUAL) {
  if (layouts == Layouts::USUAL) require_usual_layout(p);
  require_valid_matrices(p);
  require_no_groups(p);
  if (!is_product_alone(p.epilogue))
    throw std::invalid_argument("this kernel has no epilogue: it computes A * B alone");
}

// The matrices that an epilogue reads are as wide as C. Throws likewise.
template <class In, class Out>
void require_valid_epilogue_sizes(const Gemm<In, Out>& p) {
  const Epilogue<Out>& e = p.epilogue;
  const auto matrix = [&](const std::string& name, int64_t ld) {
    if (ld < p.N)
      throw std::invalid_argument("the leading dimension of the " + name + " is " +
                                  std::to_string(ld) + ", but a row has " + std::to_string(p.N) +
                                  " elements");
  };
  const bool is_empty = p.M == 0 || p.N == 0;
  if (e.beta != 0 && e.addend == nullptr && !is_empty)
    throw std::invalid_argument("beta is " + std::to_string(e.beta) + ", but there is no addend");
  if (e.beta != 0) matrix("addend", e.ld_addend);
  if (e.residual != nullptr) matrix("residual", e.ld_residual);
}

// The contract of a stage with an epilogue. What that reads by rows is aligned as C is.
template <class In, class Out>
void require_valid_epilogue(const Gemm<In, Out>& p, Layouts layouts = Layouts::USUAL) {
  if (layouts == Layouts::USUAL) require_usual_layout(p);
  require_valid_matrices(p);
  require_no_groups(p);
  require_valid_epilogue_sizes(p);
  const Epilogue<Out>& e = p.epilogue;
  const auto matrix = [&](const std::string& name, const Out* data, int64_t ld) {
    require_multiple(("the leading dimension of the " + name).c_str(), ld, 16 / sizeof(Out));
    require_multiple(("the address of the " + name).c_str(), reinterpret_cast<uintptr_t>(data), 16);
  };
  if (e.beta != 0) matrix("addend", e.addend, e.ld_addend);
  if (e.residual != nullptr) matrix("residual", e.residual, e.ld_residual);
  require_multiple("the address of the bias", reinterpret_cast<uintptr_t>(e.bias), 16);
}

// The same for a C of int8, which has a factor for all of it, one for each column, and a zero
// point.
template <class In, class Out>
void require_valid_requantisation(const Gemm<In, Out>& p) {
  require_usual_layout(p);
  require_valid_matrices(p);
  require_no_groups(p);
  const Epilogue<Out>& e = p.epilogue;
  if (e.row_scale || e.beta != 0 || e.bias || e.activation != Activation::NONE || e.residual)
    throw std::invalid_argument(
        "this kernel's epilogue has alpha, column_scale and zero_point, and nothing else");
  if (e.zero_point < -128 || e.zero_point > 127)
    throw std::invalid_argument("the zero point is " + std::to_string(e.zero_point) +
                                ", but must be from -128 to 127");
  require_multiple("the address of the column scales", reinterpret_cast<uintptr_t>(e.column_scale),
                   16);
}

// For the stages that take groups: of the ends, what can be seen on the host. Throws likewise.
template <class In, class Out>
void require_valid_groups(const Gemm<In, Out>& p) {
  const Groups& g = p.groups;
  if (g.count < 0) throw std::invalid_argument("there are " + std::to_string(g.count) + " groups");
  if (g.count == 0) return;
  if (g.ends == nullptr && g.ends_on_host != nullptr)
    throw std::invalid_argument("there are ends of groups on the host, but none in device memory");
  if (g.ends == nullptr && p.M % g.count != 0)
    throw std::invalid_argument("M is " + std::to_string(p.M) + ", which is no multiple of the " +
                                std::to_string(g.count) + " groups that have no ends");
  if (g.ends_on_host == nullptr) return;
  int begin = 0;
  for (int i = 0; i < g.count; begin = g.ends_on_host[i++])
    if (g.ends_on_host[i] < begin)
      throw std::invalid_argument("group " + std::to_string(i) + " ends at row " +
                                  std::to_string(g.ends_on_host[i]) + ", but begins at row " +
                                  std::to_string(begin));
  if (begin != p.M)
    throw std::invalid_argument("the last group ends at row " + std::to_string(begin) +
                                ", but M is " + std::to_string(p.M));
}

// For the stages that have a workspace_bytes(): `needed` is what it returns.
template <class Problem>
void require_workspace(const Problem& p, uint64_t needed) {
  if (p.workspace_bytes < needed || (p.workspace == nullptr && needed > 0))
    throw std::invalid_argument("the workspace has " +
                                std::to_string(p.workspace == nullptr ? 0 : p.workspace_bytes) +
                                " bytes, but this problem needs " + std::to_string(needed));
  require_multiple("the address of the workspace", reinterpret_cast<uintptr_t>(p.workspace), 16);
}

// Vector loads, cp.async and TMA move 16 bytes: every row has to start on such a boundary.
template <class In, class Out>
void require_aligned_rows(const Gemm<In, Out>& p) {
  require_multiple("lda", p.lda, 16 / sizeof(In));
  require_multiple("ldb", p.ldb, 16 / sizeof(In));
  require_multiple("ldc", p.ldc, 16 / sizeof(Out));
}

// For the stages that multiply by p.scales. Throws std::invalid_argument that names the offender.
template <class In, class Out>
void require_scales(const Gemm<In, Out>& p) {
  if (p.scales.a == nullptr || p.scales.b == nullptr)
    throw std::invalid_argument("this kernel needs the scales of A and of B");
  require_multiple("the address of A's scales", reinterpret_cast<uintptr_t>(p.scales.a), 16);
  require_multiple("the address of B's scales", reinterpret_cast<uintptr_t>(p.scales.b), 16);
  const auto leading = [](const char* what, int64_t ld, int width) {
    if (ld < width)
      throw std::invalid_argument(std::string(what) + " is " + std::to_string(ld) +
                                  ", but a row of them has " + std::to_string(width));
    require_multiple(what, static_cast<uint64_t>(ld), 4);
  };
  leading("the leading dimension of A's scales", p.scales.lda, p.M);
  leading("the leading dimension of B's scales", p.scales.ldb,
          p.K / SCALED_K + (p.K % SCALED_K != 0));
}

}  // namespace ladder
