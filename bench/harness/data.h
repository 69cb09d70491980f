#pragma once

namespace ladder::harness {

// What the operands are made of.
enum class Data {
  UNIFORM,   // [-1, 1), full entropy; results are compared against difference_bound
  EXACT,     // small integers
  WIDE,      // integers as wide as sums and results allow; see wide.h
  ZEROS,     // nothing but 0
  CONSTANT,  // nothing but CONSTANT
};
constexpr const char* DATA_NAMES[] = {"random", "exact", "wide", "zeros", "constant"};
inline const char* name(Data data) {
  return DATA_NAMES[static_cast<int>(data)];
}
inline bool is_integers(Data data) {
  return data == Data::EXACT || data == Data::WIDE;
}
// Of all but random data every product and sum is exact, and results must be equal.
inline bool is_exact(Data data) {
  return data != Data::UNIFORM;
}

}  // namespace ladder::harness
