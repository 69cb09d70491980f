#pragma once
// A kernel of one tile and one epilogue, from its headers to machine code: needs NVRTC, and no GPU.
#include <string>
#include <vector>

#include "../../jit.h"
#include "cache.h"

namespace ladder::jit {

// What A, B and C consist of, and how A and B are stored.
struct Operands {
  const char* type;  // "half" or "ladder::bf16"
  bool transposed_a = false, transposed_b = false;
};
template <class T>
Operands operands_of(const ladder::Gemm<T, T>& p) {
  return {std::is_same_v<T, half> ? "half" : "ladder::bf16", p.transposed_a, p.transposed_b};
}

struct Code {
  std::string cubin;
  std::string kernel;  // its name in there
  // Bytes of shared memory and threads of a block, and what else the launcher has to know of a
  // tile: of 13, 13b and 18 the rows of a piece of C, of 14 the buffers.
  std::vector<int> numbers;
};

// What NVRTC gets, and the names of what it is to make of that.
struct Source {
  std::string text, kernel, numbers;
};
// Throws std::invalid_argument for a tile that no kernel has, or a header that cannot be read.
Source source_of(const tuned::Candidate& tile, const Operands& operands, const Epilogue& epilogue,
                 size_t arguments_bytes);

// Whether a kernel has the tile for such operands: 13 and 13b for any, 14 where A is by rows.
bool has_kernel(const tuned::Candidate& tile, const Operands& operands);

// From the cache, or compiled for sm_90a and stored there. Throws CompileError, and
// std::runtime_error where CUDA's headers are not to be found.
Code code_of(const Source& source, const Cache& cache);

}  // namespace ladder::jit
