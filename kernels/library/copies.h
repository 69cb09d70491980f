#pragma once
// What the library copies to rows that begin elsewhere. Plain C++: it needs no CUDA header.
#include <cstdint>

namespace ladder::library {

// `rows` rows of `columns` elements, which begin on any element. Leading dimensions in elements.
template <class T>
struct RowsToCopy {
  int64_t rows, columns;
  const T* from;
  int64_t ld_from;  // elements from one row to the next
  T* to;
  int64_t ld_to;  // elements from one row to the next
};

template <class T>
struct AllRowsToCopy {
  static constexpr int MOST = 5;  // A, B, and what an epilogue reads: addend, residual and bias
  RowsToCopy<T> all[MOST];
  int count;
};

}  // namespace ladder::library
