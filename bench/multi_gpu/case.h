#pragma once
// One problem, in as many versions of its data as asked for, and what each rank's result has to be.
#include <vector>

#include "device_code.h"
#include "variants.h"

namespace ladder::multi_gpu {

struct Size {
  int m, n, k;
};

class Case {
 public:
  // References are cuBLAS's, on this rank's GPU alone, from the whole matrices. Versions differ in
  // A. All ranks together.
  Case(Rank& rank, harness::Cublas& cublas, Operation operation, Size size, Values values,
       int versions, uint64_t seed);

  Operation operation() const { return operation_; }
  // This rank's part of the problem; its A is the one that was loaded last.
  const Gemm<half, half>& problem() const { return p_; }
  // The link's buffers as if all of A had been gathered.
  void fill_buffers() const;
  // NaN wherever a result or another rank's data has to come. The ranks meet before and after.
  void poison() const;
  // Enqueued: p's A is of this version.
  void load(int version) const;
  // Enqueued: adds to *wrong() what is not as this version's reference.
  void compare(int version, const half* result) const;
  void compare_untouched() const;
  unsigned wrong() const;  // so far; waits

 private:
  Rank& rank_;
  Operation operation_;
  Size size_;
  Values values_;
  uint64_t seed_;
  Gemm<half, half> p_{};
  int result_rows_ = 0, result_cols_ = 0;
  int64_t reference_ld_ = 0;
  float tolerance_ = 0;
  int guard_rows_ = 0;  // below C
  Memory<half> a_, b_, c_;
  std::vector<Memory<half>> versions_, references_;
  Memory<unsigned> wrong_;
};

}  // namespace ladder::multi_gpu
