#pragma once
// A product by numbers of four or eight bits: its data, what C has to be, and how far a right C may
// be from it.
#include <functional>
#include <string>
#include <vector>

#include "eight_bits.cuh"
#include "harness/buffers.h"
#include "harness/data.h"
#include "harness/verify.h"

namespace ladder::four_bits_bench {

enum class Numbers { FOUR_BITS, INT8, E4M3 };  // that W is made of

template <class T, eight_bits::Number NUMBER>
using EightBits = PackedProduct<T, eight_bits::Packed<T, NUMBER>>;

// A problem in the form of its numbers, the others without W; and with W of numbers of 16 bits.
template <class T>
struct Problem {
  FourBits<T> four;
  EightBits<T, eight_bits::Number::INT8> int8;
  EightBits<T, eight_bits::Number::E4M3> e4m3;
  Gemm<T, T> sixteen;
};

struct Variant {
  std::string name;
  Numbers numbers;
  bool rounds_weights;  // to T, before it multiplies by them
  std::function<void(const Problem<half>&)> of_half;
  std::function<void(const Problem<bf16>&)> of_bf16;

  // `run` takes either problem.
  template <class Run>
  Variant(const char* name, Numbers numbers, bool rounds_weights, const Run& run)
      : name(name), numbers(numbers), rounds_weights(rounds_weights), of_half(run), of_bf16(run) {}

  void operator()(const Problem<half>& p) const { of_half(p); }
  void operator()(const Problem<bf16>& p) const { of_bf16(p); }
};

// In device memory: the numbers' values, and the rest as Quantised has it.
struct Unpacked {
  const float *values, *scales;
  const uint8_t* zeros;
};
// Of each element of C what it is, and the sum of its products' absolute values; M x N.
template <class T>
void find_expected(const Gemm<T, T>& p, const Unpacked& w, float* expected, float* magnitudes);

template <class T>
class Case {
 public:
  // `data` is UNIFORM or EXACT.
  Case(Numbers numbers, harness::Shape shape, harness::Data data, uint64_t seed, int sets = 1);

  // Set number i of the operands; and W of it as it is packed.
  Problem<T> problem(int i, cudaStream_t stream) const;
  const void* packed(int i) const { return sets_[static_cast<size_t>(i)].packed.get(); }
  // Runs the variant with every byte of C poisoned. "" or what is wrong.
  std::string check(const Variant& variant, cudaStream_t stream);

  // Of W as it is packed; and what has to be read and written, with A and C.
  static size_t packed_bytes(Numbers numbers, harness::Shape shape);
  static double bytes_per_set(Numbers numbers, harness::Shape shape);

 private:
  struct Set {
    harness::DeviceBuffer<T> A;
    harness::DeviceBuffer<unsigned char> packed;
    harness::DeviceBuffer<T> unpacked, C;
  };

  Numbers numbers_;
  harness::Shape shape_;
  harness::Data data_;
  int64_t lda_, ldb_, ldc_;
  std::vector<float> expected_, magnitudes_;
  std::vector<Set> sets_;
};

}  // namespace ladder::four_bits_bench
