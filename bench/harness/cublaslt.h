#pragma once
// cublasLt: the same products as cuBLAS, with a list of algorithms to choose from.
#include <cstdint>
#include <memory>
#include <string>

#include "launch.cuh"

namespace ladder::harness {

// The algorithms that cublasLt proposes for one problem, best first by its own reckoning. They keep
// to the numerical contract of Cublas: sums in the format that Formats says, and parts of a K that
// is split not rounded to a smaller one. Errors are thrown as CudaError.
template <class In, class Out>
class CublasLt {
 public:
  static constexpr int ASKED = 64;
  static constexpr uint64_t WORKSPACE_BYTES = uint64_t{64} << 20;  // that each may use

  // For problems of the dimensions of `p` and with its epilogue.
  explicit CublasLt(const Gemm<In, Out>& p);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  int algorithms() const;
  // By the numbers of its configuration: "id 66, tile 23, ...".
  std::string describe(int algorithm) const;
  // "", or that cublasLt has no such epilogue, and so no algorithm.
  std::string missing() const;
  void gemm(int algorithm, const Gemm<In, Out>& p) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace ladder::harness
