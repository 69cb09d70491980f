#pragma once
// Operands and results in device memory: drawn, and checked, where they are.
#include <cstdint>

#include "harness/problem.h"

namespace ladder::peers {

// The harness's random numbers from -1 to 1, `count` of them.
template <class T>
void draw_uniform(T* data, size_t count, uint64_t seed, cudaStream_t stream);

// How far an element may be from another right result: `least` and `of_reference` of its size.
struct Tolerance {
  double least, of_reference;
};
// For operands of draw_uniform: the harness's difference_bound with the largest norms that they can
// have.
template <class In, class Out>
Tolerance tolerance(int K);

struct Differences {
  unsigned long long wrong = 0;   // elements of C
  unsigned long long beside = 0;  // that were written beside C's columns or after its last row
};
// Of a C that was poisoned, with GUARD elements after it.
template <class Out>
Differences compare(const Out* c, const Out* reference, harness::Shape shape, int64_t ld,
                    Tolerance tolerance, cudaStream_t stream);

// How many of some elements of p.C, here and there, are not what doubles make of them.
template <class In, class Out>
Differences compare_with_doubles(const Gemm<In, Out>& p, Tolerance tolerance);

}  // namespace ladder::peers
