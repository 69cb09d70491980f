#pragma once
// The feed-forward block of kernels/feed_forward.cuh, compiled once for who calls it.
#include "extensions.h"
#include "types.cuh"

namespace ladder::peers {

// As feed_forward::block.
void feed_forward_in_one_kernel(const Gemm<half, half>& first, const Gemm<half, half>& second);

}  // namespace ladder::peers
