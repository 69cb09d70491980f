#pragma once
// Matrices as they lie in memory: what is between their rows is NaN.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "number.h"
#include "random.h"
#include "verify.h"

namespace ladder::harness {

// `element` makes the number at an index that counts the elements of the rows.
template <class T, class Element>
std::vector<T> draw_rows(int rows, int columns, int64_t ld, const Element& element) {
  std::vector<T> matrix(static_cast<size_t>(rows * ld));
  if (matrix.empty()) return matrix;
  std::memset(static_cast<void*>(matrix.data()), POISON, matrix.size() * sizeof(T));
#pragma omp parallel for
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const uint64_t index =
          static_cast<uint64_t>(i) * static_cast<uint64_t>(columns) + static_cast<uint64_t>(j);
      matrix[static_cast<size_t>(i * ld + j)] = element(index);
    }
  }
  return matrix;
}

template <class T>
std::vector<T> draw_matrix(int rows, int columns, int64_t ld, Data data, uint64_t seed,
                           Stream stream, int magnitude = EXACT_MAGNITUDE) {
  return draw_rows<T>(rows, columns, ld, [=](uint64_t index) {
    const float x = data == Data::WIDE ? random_integer(seed, stream, index, magnitude)
                                       : draw(data, seed, stream, index);
    // Of integers what is a fraction else is as many 128ths.
    const bool is_fraction = std::is_integral_v<T> && !is_integers(data);
    return Number<T>::from_float(is_fraction ? std::floor(128 * x) : x);
  });
}

}  // namespace ladder::harness
