#pragma once
// cuBLAS, as the reference and as the yardstick.
#include <string>

#include "launch.cuh"

struct cublasContext;

namespace ladder::harness {

// A handle; calls enqueue on the stream of their Gemm. Errors are thrown as CudaError.
class Cublas {
 public:
  Cublas();
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  std::string version() const;  // "13.1.0"

  // fp32 in "pedantic" math: FMAs on fp32 numbers, no tensor cores behind the scenes. Others on the
  // tensor cores, accumulated as Formats says. It has no fp8, and no results of 8 bits. Groups are
  // called one by one.
  template <class In, class Out>
  void gemm(const Gemm<In, Out>& p) {
    if (p.groups.count == 0) product(p, p.C, p.ldc);
    for (int g = 0; g < p.groups.count; ++g) {
      const Gemm<In, Out> group = product_of_group(p, g);
      if (group.M > 0) product(group, group.C, group.ldc);
    }
  }
  // The same to another matrix, also one of sums that are not rounded to Out. No epilogue.
  template <class In, class Out, class To>
  void product(const Gemm<In, Out>& p, To* to, int64_t ld);
  // That, but false where it refuses: it multiplies integers of some sizes alone.
  template <class In, class Out, class To>
  bool has(const Gemm<In, Out>& p, To* to, int64_t ld);

 private:
  cublasContext* handle_ = nullptr;
};

}  // namespace ladder::harness
