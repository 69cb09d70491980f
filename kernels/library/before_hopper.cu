// The stages for GPUs from compute capability 8.0 on.
#include "finish_pairs.cuh"
#include "finish_split_k.cuh"
#include "is_there.cuh"
#include "launch.h"

namespace ladder::library {

template <class T>
void launch_swizzle(const Gemm<T, T>& p) {
  if (is_product_alone(p.epilogue))
    swizzle::gemm(p);
  else
    launch_and_finish_pairs(p);
}
template void launch_swizzle(const Gemm<half, half>&);
template void launch_swizzle(const Gemm<bf16, bf16>&);
void launch_split_k(const Gemm<float, float>& p) {
  if (is_product_alone(p.epilogue))
    split_k::gemm(p);
  else
    launch_split_k_and_finish(p);
}
template <>
void launch_epilogue(const Gemm<float, float>& p) {
  launch_split_k(p);
}
uint64_t split_k_bytes(const Gemm<float, float>& p) {
  return split_k::workspace_bytes(p);
}

static __global__ void any_kernel() {}
bool has_kernels() {
  return is_there(any_kernel);
}

}  // namespace ladder::library
