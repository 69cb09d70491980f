#pragma once
// Kernels that are compiled when they are needed, for exactly one type, layout and tile, and one
// epilogue, which is the user's own: the CMake target gemm_ladder::jit. Their machine code is
// cached on disk, in $LADDER_CACHE, else $XDG_CACHE_HOME/gemm_ladder, else ~/.cache/gemm_ladder.
#include <cuda_fp16.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "extensions.h"
#include "tuned/model.h"
#include "types.cuh"

namespace ladder::jit {

// What is done with each element of A * B before it is rounded and stored: the body of
//   float epilogue(float x, int m, int n)
// in CUDA, where x is the element of row m and column n. With no body it is x. The body sees the
// fields of `arguments`, whose values come with each call, and what `header`, a file, defines. All
// of CUDA's device functions are there, half and bf16.
struct Epilogue {
  std::string body{};              // "return x > 0 ? x : slope * x;"
  std::string arguments{};         // "float slope;"
  std::filesystem::path header{};  // of which others may include CUDA's, and none of the user's own
};

// The compiler's words, with the lines of what the user has written.
struct CompileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Loaded;

// C = epilogue(A * B), by one kernel, whose T is half or bf16. Copies are the same kernel, which
// stays loaded until the process ends; several threads may call it at once.
template <class T>
class Gemm {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, bf16>,
                "ladder::jit multiplies half and bf16");

 public:
  // Enqueues it on the problem's stream, on the device for which it was compiled, which has to be
  // the current one. `arguments` is a struct with the fields of Epilogue::arguments. Throws
  // std::invalid_argument for problems that 18 does not take, in another layout than it was
  // compiled for, or with an epilogue of their own, and for arguments of another size; CudaError.
  template <class Arguments>
  void operator()(const ladder::Gemm<T, T>& p, const Arguments& arguments) const {
    static_assert(std::is_trivially_copyable_v<Arguments>);
    (*this)(p, &arguments, sizeof arguments);
  }
  // Without arguments.
  void operator()(const ladder::Gemm<T, T>& p) const { (*this)(p, nullptr, 0); }
  // With arguments of a type that is not known here.
  void operator()(const ladder::Gemm<T, T>& p, const void* arguments, size_t bytes) const;

  const tuned::Candidate& tile() const;  // that it was compiled for

 private:
  friend struct Access;
  explicit Gemm(const Loaded& loaded) : loaded_(&loaded) {}

  const Loaded* loaded_;
};

// The kernel of a tile, for problems of p's type and layout: of stage 13 or 13b or, where A is by
// rows, of 14.
// `arguments_bytes` is the size of the struct that will come with the calls, 0 for none. Compiled
// if it is in no cache: a second or so. Throws CompileError; std::invalid_argument for a tile that
// no kernel has; CudaError where the current GPU is not of compute capability 9.0, or there is
// none.
template <class T>
Gemm<T> compile(const ladder::Gemm<T, T>& p, const tuned::Candidate& tile,
                const Epilogue& epilogue = {}, size_t arguments_bytes = 0);

// The kernel for a problem: the one that tune() found for these sizes on this kind of GPU, or else
// the one that the model of stage 15 says is done first.
template <class T>
Gemm<T> chosen(const ladder::Gemm<T, T>& p, const Epilogue& epilogue = {},
               size_t arguments_bytes = 0);

// A tile and what it took, in microseconds.
struct Timed {
  tuned::Candidate tile;  // with its stage
  double us;              // of a launch
};
// Times the eight tiles that the model says are done first, with copies of the problem's matrices,
// and stores which of them is: what chosen() takes from then on, in later processes as well. The
// fastest comes first. Waits for the GPU. C is not written; what an epilogue writes itself, is.
template <class T>
std::vector<Timed> tune(const ladder::Gemm<T, T>& p, const Epilogue& epilogue,
                        const void* arguments, size_t arguments_bytes);
// The same with a struct of arguments.
template <class T, class Arguments>
std::vector<Timed> tune(const ladder::Gemm<T, T>& p, const Epilogue& epilogue,
                        const Arguments& arguments) {
  return tune(p, epilogue, &arguments, sizeof arguments);
}
// The same without arguments.
template <class T>
std::vector<Timed> tune(const ladder::Gemm<T, T>& p, const Epilogue& epilogue = {}) {
  return tune(p, epilogue, nullptr, 0);
}

// C = epilogue(A * B) by the kernel that is chosen.
template <class T, class Arguments>
void gemm(const ladder::Gemm<T, T>& p, const Epilogue& epilogue, const Arguments& arguments) {
  chosen(p, epilogue, sizeof arguments)(p, arguments);
}
// The same without arguments.
template <class T>
void gemm(const ladder::Gemm<T, T>& p, const Epilogue& epilogue = {}) {
  chosen(p, epilogue)(p);
}

}  // namespace ladder::jit
