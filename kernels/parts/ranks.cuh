#pragma once
// How ranks divide a matrix.
#include <cuda_runtime.h>

#include <cstdint>

namespace ladder {

constexpr int MAX_RANKS = 8;

// Ranks are numbered 0 to count - 1; each has a GPU, or shares one.
struct Ranks {
  int count, own;

  // The rank that is `distance` after this one; the last is followed by 0.
  __host__ __device__ int after(int distance) const { return (own + distance) % count; }
};

// Of `size` rows or columns, what one rank has.
struct Share {
  int first, count;
};
// All ranks have as many, ceil(size / ranks), but for the last ones, who have what is left: then
// shares that lie one after the other in equal slots are the whole matrix, in one piece.
__host__ __device__ inline Share share(int size, int ranks, int rank) {
  const int full = size / ranks + (size % ranks != 0);
  const int64_t first = static_cast<int64_t>(full) * rank;
  if (first >= size) return {size, 0};
  const int left = size - static_cast<int>(first);
  return {static_cast<int>(first), left < full ? left : full};
}

// Where the share of a rank begins in a matrix of `size` rows.
template <class T>
T* rows_of(T* matrix, int size, int64_t ld, int ranks, int rank) {
  return matrix + share(size, ranks, 0).count * static_cast<int64_t>(rank) * ld;
}

}  // namespace ladder
