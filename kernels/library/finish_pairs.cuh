#pragma once
// 07b with an epilogue.
#include "../07b_swizzle.cuh"
#include "finish.cuh"

namespace ladder::library {

// Of rows that begin on 16 bytes.
template <class T>
void launch_and_finish_pairs(const Gemm<T, T>& p) {
  if (swizzle::three_buffers_fit())
    swizzle::launch_pipe<3, true>(p, finish_of(p));
  else
    swizzle::launch_pipe<2, true>(p, finish_of(p));
}

}  // namespace ladder::library
