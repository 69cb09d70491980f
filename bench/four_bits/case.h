#pragma once
// A product by numbers of four bits: its data, what C has to be, and how far a right C may be from
// it.
#include <functional>
#include <string>
#include <vector>

#include "four_bits.cuh"
#include "harness/buffers.h"
#include "harness/data.h"
#include "harness/verify.h"

namespace ladder::four_bits_bench {

// The same problem with W of numbers of 16 bits.
template <class T>
struct Problem {
  FourBits<T> four;
  Gemm<T, T> sixteen;
};

struct Variant {
  std::string name;
  bool rounds_weights;  // to T, before it multiplies by them
  std::function<void(const Problem<half>&)> of_half;
  std::function<void(const Problem<bf16>&)> of_bf16;

  // `run` takes either problem.
  template <class Run>
  Variant(const char* name, bool rounds_weights, const Run& run)
      : name(name), rounds_weights(rounds_weights), of_half(run), of_bf16(run) {}

  void operator()(const Problem<half>& p) const { of_half(p); }
  void operator()(const Problem<bf16>& p) const { of_bf16(p); }
};

// In device memory, as Quantised has them.
struct Unpacked {
  const uint8_t *numbers, *zeros;
  const float* scales;
};
// Of each element of C what it is, and the sum of its products' absolute values; M x N.
template <class T>
void find_expected(const FourBits<T>& p, const Unpacked& w, float* expected, float* magnitudes);

template <class T>
class Case {
 public:
  // `data` is UNIFORM or EXACT.
  Case(harness::Shape shape, harness::Data data, uint64_t seed, int sets = 1);

  // Set number i of the operands.
  Problem<T> problem(int i, cudaStream_t stream) const;
  // Runs the variant with every byte of C poisoned. "" or what is wrong.
  std::string check(const Variant& variant, cudaStream_t stream);

  // What has to be read and written: W, A and C.
  static double bytes_per_set(harness::Shape shape);

 private:
  struct Set {
    harness::DeviceBuffer<T> A;
    harness::DeviceBuffer<Packed<T>> packed;
    harness::DeviceBuffer<T> unpacked, C;
  };

  harness::Shape shape_;
  harness::Data data_;
  int64_t lda_, ldb_, ldc_;
  std::vector<float> expected_, magnitudes_;
  std::vector<Set> sets_;
};

}  // namespace ladder::four_bits_bench
