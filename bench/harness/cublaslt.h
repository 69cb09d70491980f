#pragma once
// cublasLt: the same products as cuBLAS, with a list of algorithms to choose from.
#include <cstdint>
#include <memory>
#include <string>

#include "launch.cuh"
#include "sums.h"

namespace ladder::harness {

// The algorithms that cublasLt proposes for one problem, best first by its own reckoning. They keep
// to the numerical contract of Cublas: sums in the format that Formats says, and parts of a K that
// is split not rounded to a smaller one. Errors are thrown as CudaError.
template <class In, class Out>
class CublasLt {
 public:
  static constexpr int ASKED = 64;
  static constexpr uint64_t WORKSPACE_BYTES = uint64_t{64} << 20;  // that each may use

  // For problems of the dimensions of `p`, with its epilogue and its scales, if it has any. Of 8
  // bits, K and N have to be multiples of 16, with scales M of 4, or there are no algorithms; nor
  // are there any where both operands are e5m2.
  explicit CublasLt(const Gemm<In, Out>& p, Sums sums = Sums::FP32);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  int algorithms() const;
  // By the numbers of its configuration: "id 66, tile 23, ...".
  std::string describe(int algorithm) const;
  // What of the problem cublasLt has not, so that there is no algorithm; or "".
  std::string missing() const;
  void gemm(int algorithm, const Gemm<In, Out>& p) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace ladder::harness
