#pragma once
// A problem of rows: its data, what Y has to be, and how far a right Y may be from it.
#include <functional>
#include <string>
#include <vector>

#include "harness/buffers.h"
#include "harness/verify.h"
#include "rows.cuh"

namespace ladder::rows_bench {

struct Shape {
  RowOperation operation = RowOperation::LAYER_NORM;
  int rows = 1, width = 1;
};

// The same for both types.
struct Variant {
  std::string name;
  std::function<void(const Rows<bf16>&)> of_bf16;
  std::function<void(const Rows<float>&)> of_float;

  void operator()(const Rows<bf16>& p) const { of_bf16(p); }
  void operator()(const Rows<float>& p) const { of_float(p); }
};

enum class Data {
  RANDOM,         // between -8 and 8
  FAR_FROM_ZERO,  // between 999 and 1001: only who subtracts before squaring has the variance
};

template <class T>
class Case {
 public:
  Case(const Shape& shape, Data data, uint64_t seed, int sets = 1);

  // Set number i of the operands.
  Rows<T> problem(int i, cudaStream_t stream) const;
  // Runs the variant with every byte of Y poisoned. "" or what is wrong.
  std::string check(const Variant& variant, cudaStream_t stream);

  // That the operation has to read and write, without what there is once for each column.
  static double bytes_per_set(const Shape& shape);

 private:
  struct Set {
    harness::DeviceBuffer<T> X, Y;
    harness::DeviceBuffer<float> losses;
  };
  void find_expected();
  // Of Y or the losses, of so many columns.
  template <class Out>
  std::string check_result(int columns, harness::DeviceBuffer<Out> Set::*result,
                           const Variant& variant, cudaStream_t stream);

  Shape shape_;
  std::vector<T> X_, gain_, bias_;
  std::vector<int> targets_;
  std::vector<float> expected_, magnitudes_;  // of the result; and of what is added up to it
  std::vector<Set> sets_;
  harness::DeviceBuffer<T> gain_on_device_, bias_on_device_;
  harness::DeviceBuffer<int> targets_on_device_;
};

}  // namespace ladder::rows_bench
