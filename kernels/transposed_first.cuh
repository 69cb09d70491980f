#pragma once
// A variant of 18, to be compared with it: a pass transposes what is stored by columns to a
// workspace, and then the product is NN.
#include "18_layouts.cuh"
#include "parts/transpose.cuh"

namespace ladder::layouts {

#ifndef __CUDACC_RTC__
template <class T>
struct ByRows {
  int rows, columns;
  int64_t ld() const { return (columns + 7) / 8 * 8; }
  uint64_t elements() const { return static_cast<uint64_t>(rows) * static_cast<uint64_t>(ld()); }
  void from_columns(const T* from, int64_t ld_from, T* to, cudaStream_t stream) const {
    transpose(columns, rows, from, ld_from, to, ld(), stream);
  }
};

// For what is stored transposed.
template <class T>
uint64_t workspace_bytes(const Gemm<T, T>& p) {
  const uint64_t a = p.transposed_a ? ByRows<T>{p.M, p.K}.elements() : 0;
  const uint64_t b = p.transposed_b ? ByRows<T>{p.K, p.N}.elements() : 0;
  return (a + b) * sizeof(T);
}

template <class T>
void gemm_transposed_first(Gemm<T, T> p) {
  if (done_without_kernel(p, Layouts::ANY)) return;
  require_workspace(p, workspace_bytes(p));
  T* to = static_cast<T*>(p.workspace);
  if (p.transposed_a) {
    const ByRows<T> a{p.M, p.K};
    a.from_columns(p.A, p.lda, to, p.stream);
    p.A = to, p.lda = a.ld(), p.transposed_a = false;
    to += a.elements();
  }
  if (p.transposed_b) {
    const ByRows<T> b{p.K, p.N};
    b.from_columns(p.B, p.ldb, to, p.stream);
    p.B = to, p.ldb = b.ld(), p.transposed_b = false;
  }
  gemm(p);
}

#endif  // __CUDACC_RTC__

}  // namespace ladder::layouts
