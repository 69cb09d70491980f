#pragma once
// The library: a Gemm (extensions.h) solved by the stage that is expected to be done first.
// Plain C++: it needs no CUDA header. No stage includes it, so that what is called gemm() in a
// kernel of one's own is one's own.
// Its functions are compiled in the CMake target gemm_ladder::gemm, for Gemm<half, half>,
// Gemm<bf16, bf16> and Gemm<float, float>; of anything else the linker says that it is undefined.
// They may be called by several threads at once.
#include "extensions.h"

namespace ladder {

// Enqueues the whole of `problem`, with its layouts and its epilogue, on its stream, which belongs
// to the current device, as do the matrices. The stage, and its tile, are those that are expected
// to be done first; explain() names them. Throws std::invalid_argument, which names what is wrong,
// and leaves C as it is: a size or a leading dimension that cannot be, an address that is not on
// that device, a workspace smaller than workspace_bytes(), what no stage computes. Throws CudaError
// where CUDA refuses. Addresses and leading dimensions need no alignment but their elements'.
template <class In, class Out>
void gemm(const Gemm<In, Out>& problem);

// Bytes of device memory that Gemm::workspace has to have for gemm(): mostly 0. Throws likewise.
template <class In, class Out>
uint64_t workspace_bytes(const Gemm<In, Out>& problem);

// What gemm() would do on the current device, and why, in a few lines of text: the stage and its
// tile, how long that is expected to take, the next best, what it falls back to and for what
// reason; or why it would refuse. Reads no matrix, and needs none: their addresses may be null.
// Throws nothing but CudaError.
template <class In, class Out>
std::string explain(const Gemm<In, Out>& problem);

}  // namespace ladder
