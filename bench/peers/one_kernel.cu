#include "feed_forward.cuh"
#include "one_kernel.h"

namespace ladder::peers {

void feed_forward_in_one_kernel(const Gemm<half, half>& first, const Gemm<half, half>& second) {
  feed_forward::block(first, second);
}

}  // namespace ladder::peers
