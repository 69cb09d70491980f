#pragma once
// Kernels that are compiled when they are needed, for exactly one tile and one epilogue, which is
// the user's own: the CMake target gemm_ladder::jit. Their machine code is cached on disk, in
// $LADDER_CACHE, else $XDG_CACHE_HOME/gemm_ladder, else ~/.cache/gemm_ladder.
#include <cuda_fp16.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "contract.h"
#include "tuned/model.h"

namespace ladder::jit {

// What is done with each element of A * B before it is rounded to fp16 and stored: the body of
//   float epilogue(float x, int m, int n)
// in CUDA, where x is the element of row m and column n. With no body it is x. The body sees the
// fields of `arguments`, whose values come with each call, and what `header`, a file, defines. All
// of CUDA's device functions are there, and <cuda_fp16.h>.
struct Epilogue {
  std::string body{};              // "return x > 0 ? x : slope * x;"
  std::string arguments{};         // "float slope;"
  std::filesystem::path header{};  // of which others may include CUDA's, and none of the user's own
};

// The compiler's words, with the lines of what the user has written.
struct CompileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// C = epilogue(A * B), by one kernel. Copies are the same kernel, which stays loaded until the
// process ends; several threads may call it at once.
class Gemm {
 public:
  // Enqueues it on the problem's stream, on the device for which it was compiled, which has to be
  // the current one. `arguments` is a struct with the fields of Epilogue::arguments. Throws
  // std::invalid_argument for problems that 13 does not take, or with an epilogue of their own, and
  // for arguments of another size; CudaError.
  template <class Arguments>
  void operator()(const ladder::Gemm<half, half>& p, const Arguments& arguments) const {
    static_assert(std::is_trivially_copyable_v<Arguments>);
    (*this)(p, &arguments, sizeof arguments);
  }
  void operator()(const ladder::Gemm<half, half>& p) const { (*this)(p, nullptr, 0); }
  void operator()(const ladder::Gemm<half, half>& p, const void* arguments, size_t bytes) const;

  const tuned::Candidate& tile() const;

 private:
  friend struct Access;
  struct Loaded;
  explicit Gemm(const Loaded& loaded) : loaded_(&loaded) {}

  const Loaded* loaded_;
};

// The kernel of a tile, of stage 13 or 13b or, without an epilogue, of 14. `arguments_bytes` is the
// size of the struct that will come with the calls, 0 for none. Compiled if it is in no cache: a
// second or so. Throws CompileError; std::invalid_argument for a tile that no kernel has; CudaError
// where the current GPU is not of compute capability 9.0, or there is none.
Gemm compile(const tuned::Candidate& tile, const Epilogue& epilogue = {},
             size_t arguments_bytes = 0);

// The kernel for a problem: the one that tune() found for these sizes on this kind of GPU, or else
// the one that the model of stage 15 says is done first.
Gemm chosen(const ladder::Gemm<half, half>& p, const Epilogue& epilogue = {},
            size_t arguments_bytes = 0);

// A tile and what it took, in microseconds.
struct Timed {
  tuned::Candidate tile;
  double us;
};
// Times the eight tiles that the model says are done first, with copies of the problem's matrices,
// and stores which of them is: what chosen() takes from then on, in later processes as well. The
// fastest comes first. Waits for the GPU. C is not written; what an epilogue writes itself, is.
std::vector<Timed> tune(const ladder::Gemm<half, half>& p, const Epilogue& epilogue,
                        const void* arguments, size_t arguments_bytes);
template <class Arguments>
std::vector<Timed> tune(const ladder::Gemm<half, half>& p, const Epilogue& epilogue,
                        const Arguments& arguments) {
  return tune(p, epilogue, &arguments, sizeof arguments);
}
inline std::vector<Timed> tune(const ladder::Gemm<half, half>& p, const Epilogue& epilogue = {}) {
  return tune(p, epilogue, nullptr, 0);
}

// C = epilogue(A * B) by the kernel that is chosen.
template <class Arguments>
void gemm(const ladder::Gemm<half, half>& p, const Epilogue& epilogue, const Arguments& arguments) {
  chosen(p, epilogue, sizeof arguments)(p, arguments);
}
inline void gemm(const ladder::Gemm<half, half>& p, const Epilogue& epilogue = {}) {
  chosen(p, epilogue)(p);
}

}  // namespace ladder::jit
