#pragma once
// What scaled.cuh computes.
#include <string>

#include "types.cuh"

namespace ladder::scaled {

// How sums are added up: by the tensor core, as 17 does it, or in fp32, as 17b.
enum class Adds { FAST, PROMOTED };

struct Factors {
  const float *a, *b;  // or null, with of_rows
  bool of_rows;        // a: M, one for each row of A, and b: N; else one each
  const bf16* bias;    // N, or null
  float alpha = 1;     // one of all
};

// Of e4m3. N is a multiple of 2, b begins on 8 bytes and the bias on 4.
struct Problem : Gemm<e4m3, bf16> {
  Factors factors;
};

// Enqueues it, by the tile that is expected to be done first. Needs wgmma (sm_90a). Throws
// std::invalid_argument for sizes and addresses that the kernel does not take, and CudaError where
// CUDA refuses. Compiled in the library.
void gemm(const Problem& p, Adds adds);
// That tile, "128x256".
std::string tile(const Problem& p, Adds adds);

}  // namespace ladder::scaled
