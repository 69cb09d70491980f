#pragma once
// A linear layer behind a LayerNorm: its data, what Y has to be, and how far a right Y may be from
// it.
#include <functional>
#include <string>
#include <vector>

#include "harness/buffers.h"
#include "harness/verify.h"
#include "norm_linear.cuh"
#include "rows.cuh"

namespace ladder::norm_linear_bench {

// The same problem folded, and in two steps.
struct Problem {
  NormLinear<bf16> folded;
  Rows<bf16> norm;
  Gemm<bf16, bf16> product;
};

struct Variant {
  std::string name;
  std::function<void(const Problem&)> run;
};

// W, sums and bias for NormLinear.
void fold(const Unfolded<bf16>& from, bf16* W, float* sums, float* bias);

enum class Data {
  RANDOM,     // X from -1 to 1
  OFF_CENTRE  // from 15 to 17
};

// In double: of each element of Y what it is; the root of the sum of its products' squares, which
// says what their roundings to bf16 may come to; and the sum of the absolute products of X itself,
// which says the same of fp32. `means` and `factors` are those of the rows.
struct Expected {
  float *value, *root, *magnitude;
};
void find_expected(const Gemm<bf16, bf16>& p, const Unfolded<bf16>& of, const double* means,
                   const double* factors, Expected to);

class Case {
 public:
  Case(harness::Shape shape, Data data, uint64_t seed, int sets = 1);

  // Set number i of the operands.
  Problem problem(int i, cudaStream_t stream) const;
  // Runs the variant with every byte of Y poisoned. "" or what is wrong.
  std::string check(const Variant& variant, cudaStream_t stream);

 private:
  struct Set {
    harness::DeviceBuffer<bf16> X, normed, W, folded, Y;
  };

  harness::Shape shape_;
  int64_t ld_;  // of W and Y
  std::vector<float> value_, root_, magnitude_;
  std::vector<Set> sets_;
  harness::DeviceBuffer<bf16> gain_, shift_, bias_;
  harness::DeviceBuffer<float> sums_, folded_bias_;
};

}  // namespace ladder::norm_linear_bench
