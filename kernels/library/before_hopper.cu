// The stages for GPUs from compute capability 8.0 on.
#include "../05c_split_k.cuh"
#include "../07b_swizzle.cuh"
#include "launch.h"

namespace ladder::library {

void launch_swizzle(const Gemm<half, half>& p) {
  swizzle::gemm(p);
}
void launch_split_k(const Gemm<float, float>& p) {
  split_k::gemm(p);
}
uint64_t split_k_bytes(const Gemm<float, float>& p) {
  return split_k::workspace_bytes(p);
}

}  // namespace ladder::library
