#pragma once
// cuBLAS's one call for groups.
#include <memory>

#include "launch.cuh"

namespace ladder::peers {

// For one problem, whose pointers it keeps. Errors are thrown as CudaError.
class CublasGroups {
 public:
  // The host has to know the ends. Groups of no rows are left out: it takes none.
  explicit CublasGroups(const Gemm<half, half>& p);
  ~CublasGroups();
  CublasGroups(const CublasGroups&) = delete;
  CublasGroups& operator=(const CublasGroups&) = delete;

  void gemm(cudaStream_t stream) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace ladder::peers
