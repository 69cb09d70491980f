#pragma once
// Kernels of the benchmark itself: data, comparison, a common start.
#include <cstdint>

#include "launch.cuh"
#include "parts/ranks.cuh"

namespace ladder::multi_gpu {

enum class Values {
  UNIFORM,  // [-1, 1), full entropy
  EXACT,    // integers from -2 to 2: all products and sums are exact, in fp16, too
};

// Where the part of a matrix begins that is filled or compared.
struct Origin {
  int row = 0, col = 0;
};

// Rows of a matrix that is the same for all ranks who draw it with the same seed: element (row,
// col) of the whole depends on these, the seed and nothing else. NaN between `cols` and `ld`.
void fill(half* part, int rows, int cols, int64_t ld, Origin origin, uint64_t seed, Values values,
          cudaStream_t stream);

// Adds to *wrong how many elements of `result` are not within `tolerance` of `reference`.
void compare(const half* result, int64_t ld, const half* reference, int64_t reference_ld, int rows,
             int cols, float tolerance, unsigned* wrong, cudaStream_t stream);

// Adds to *wrong how many halves between `cols` and `ld`, and of the rows after `rows` up to
// all_rows, are not what memset(0xFF) makes of them.
void compare_untouched(const half* result, int64_t ld, int rows, int cols, int all_rows,
                       unsigned* wrong, cudaStream_t stream);

// Keeps the stream busy.
void spin(int64_t nanoseconds, cudaStream_t stream);

// The stream goes on when *open and every rank's word in words[own] have reached `round`; writes
// this rank's word in everybody's.
struct GateWords {
  uint32_t* of[MAX_RANKS];
};
void gate(const uint32_t* open, GateWords words, Ranks ranks, uint32_t round, cudaStream_t stream);

// Loads this file's kernels: a kernel that is loaded when it is first launched may wait for those
// that run.
void load_device_code();

}  // namespace ladder::multi_gpu
