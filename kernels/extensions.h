#pragma once
// What later stages add to a product. 01 to 11 have none of it, but for the workspace of 05c and
// 05d. Plain C++: it needs no CUDA header.
#include <cstdint>

#include "epilogue.h"
#include "product.h"

namespace ladder {

// Factors in fp32 of blocks of A and B, K divided into parts of SCALED_K: of each part of a row of
// A one, a[part * lda + m], and of each SCALED_N columns of B one, b[n / SCALED_N * ldb + part].
// 16-byte aligned, leading dimensions multiples of 4: what cublasLt wants.
struct BlockScales {
  const float* a = nullptr;  // a row for each part of K, of M factors
  int64_t lda = 0;           // factors from one such row to the next
  const float* b = nullptr;  // a row for each SCALED_N columns of B, of a factor for each part of K
  int64_t ldb = 0;           // factors from one such row to the next
};
constexpr int SCALED_K = 128;  // of K, a part that has a factor of its own
constexpr int SCALED_N = 128;  // columns of B that share one

// Whether tensor cores read these numbers along K alone, both of A and of B: those of 8 bits, and
// tf32.
template <class T>
constexpr bool ALONG_K = sizeof(T) == 1;

// Products beside each other, "groups", of one N and one K: group g has the rows of A and of C from
// ends[g - 1] on, or from 0, to ends[g] - 1, and a B of its own, number g of `count` behind each
// other, K * ldb elements apart. The last end is M. Without ends all groups have as many rows.
struct Groups {
  int count = 0;                      // 0: one product, and no groups
  const int* ends = nullptr;          // ascending, in device memory
  const int* ends_on_host = nullptr;  // the same on the host, or null: not known there

  // Whether the host can say where groups end.
  bool are_known_on_host() const { return ends_on_host != nullptr || ends == nullptr; }
  // The first row behind group g, where that is so, with M rows in all.
  int end_on_host(int g, int M) const {
    return ends_on_host != nullptr ? ends_on_host[g] : M / count * (g + 1);
  }
};

// What a launcher takes. It says which of these it does, and refuses the others.
template <class In, class Out>
struct Gemm : Product<In, Out> {
  // Device memory to work in, 16-byte aligned, for the stages that have a workspace_bytes(); calls
  // on other streams need another.
  void* workspace = nullptr;
  uint64_t workspace_bytes = 0;  // its size
  // A matrix may be stored transposed, which is the same as column-major: A as K rows of M
  // elements, lda apart; B as N rows of K, ldb apart. Where numbers are ALONG_K B always is, and A
  // never; else both are only for the stages that take any layout.
  bool transposed_a = false;
  // Likewise.
  bool transposed_b = false;
  BlockScales scales{};  // for the stages that say so
  // What is done with A * B before it is stored.
  Epilogue<Out> epilogue{};
  Groups groups{};  // for the stages that say so
  // The kernel may start while the one before it on the stream still runs, and waits for that one's
  // end before it reads or writes a matrix. 13 to 14, 16 and 18 can, others wait.
  bool starts_early = false;
};

// Group g by itself. The host has to know the ends.
template <class In, class Out>
Gemm<In, Out> product_of_group(Gemm<In, Out> p, int g) {
  const int begin = g == 0 ? 0 : p.groups.end_on_host(g - 1, p.M);
  p.M = p.groups.end_on_host(g, p.M) - begin;
  p.A += begin * p.lda;
  p.B += int64_t{g} * p.K * p.ldb;
  p.C += begin * p.ldc;
  p.groups = {};
  return p;
}

}  // namespace ladder
