#pragma once
// Compares every element of C, and everything around C, with what it should be.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "number.h"

namespace ladder::harness {

// C as it lies in memory: GUARD elements, `rows` rows of ld elements of which `cols` are C's, GUARD
// elements. Before a run every element is poison(): one that is not written fails the comparison,
// and one that should not be and is, is seen.
constexpr int64_t GUARD = 4096;

// What stands for it in 16 bits: as a half, and as a bfloat16.
template <class T>
constexpr uint16_t POISON_16 = 0x7D5A;
template <>
inline constexpr uint16_t POISON_16<bf16> = 0x7FA5;

// A signalling NaN with a pattern in it: arithmetic makes only quiet ones, so that no kernel
// computes it.
template <class T>
T poison() {
  const uint32_t fp32 = 0x7FA5A5A5;
  const uint16_t fp16 = POISON_16<T>;
  T value;
  std::memcpy(static_cast<void*>(&value),
              sizeof value == sizeof fp32 ? static_cast<const void*>(&fp32) : &fp16, sizeof value);
  return value;
}
// Whether that is still there.
template <class Out>
bool is_poison(const Out& value) {
  const Out unwritten = poison<Out>();
  return std::memcmp(&value, &unwritten, sizeof value) == 0;
}
// The bytes of other memory that nothing should be made of: NaN in every format, too.
constexpr int POISON = 0xFF;

template <class Out>
struct Output {
  int rows, cols;
  int64_t ld;
  std::vector<Out> memory = std::vector<Out>(size());
  // Of a reference with an epilogue: what its activation is applied to, row by row.
  std::vector<double> before{};
  std::string stray{};  // what the run wrote outside its workspace; "" for nothing

  size_t size() const { return static_cast<size_t>(rows * ld + 2 * GUARD); }
  const Out* row(int i) const { return &memory[static_cast<size_t>(GUARD + i * ld)]; }
  Out* row(int i) { return &memory[static_cast<size_t>(GUARD + i * ld)]; }
  void poison() { std::fill(memory.begin(), memory.end(), harness::poison<Out>()); }
};

struct Verdict {
  bool ok = true;
  int64_t wrong = 0;  // elements of C
  // The element that is closest to its bound, or furthest beyond it; NaN when one is.
  double max_error = 0, bound = 0;
  std::string message;  // when not ok: the first wrong element and the count, or the stray write
};

// bound(i, j) is the largest allowed |c - reference| of that element; 0 asks for equality.
using Bound = std::function<double(int i, int j, double reference)>;

template <class Out>
Verdict verify(const Output<Out>& c, const Output<Out>& reference, const Bound& bound);

}  // namespace ladder::harness
