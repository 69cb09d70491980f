#pragma once
// A kernel of one tile and one epilogue, from its headers to machine code: needs NVRTC, and no GPU.
#include <string>
#include <vector>

#include "../../jit.h"
#include "cache.h"

namespace ladder::jit {

struct Code {
  std::string cubin;
  std::string kernel;  // its name in there
  // Bytes of shared memory and threads of a block, and what else the launcher has to know of a
  // tile: of 13 and 13b the rows of a piece and of the last one, of 14 the buffers.
  std::vector<int> numbers;
};

// What NVRTC gets, and the names of what it is to make of that.
struct Source {
  std::string text, kernel, numbers;
};
// Throws std::invalid_argument for a tile that no kernel has, or a header that cannot be read.
Source source_of(const tuned::Candidate& tile, const Epilogue& epilogue, size_t arguments_bytes);

// From the cache, or compiled for sm_90a and stored there. Throws CompileError, and
// std::runtime_error where CUDA's headers are not to be found.
Code code_of(const Source& source, const Cache& cache);

}  // namespace ladder::jit
