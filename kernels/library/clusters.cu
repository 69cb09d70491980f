// The stages in fp32 for GPUs that have clusters.
#include "finish_fp32.cuh"
#include "is_there.cuh"
#include "launch.h"

namespace ladder::library {

void launch_few_rows(const Gemm<float, float>& p) {
  if (is_product_alone(p.epilogue))
    few_rows_fp32::gemm(p);
  else
    launch_and_finish(p);
}
uint64_t few_rows_bytes(const Gemm<float, float>& p) {
  return few_rows_fp32::workspace_bytes(p);
}
std::string few_rows_in_words(const Gemm<float, float>& p) {
  if (const auto* const c = few_rows_fp32::chosen(p)) return "05e few_rows, " + name(*c);
  using split_in_cluster::LeftOut;
  if (const auto* const c = split_in_cluster::chosen(p, LeftOut::NOTHING).configuration)
    return "05d split_in_cluster, " + name(*c);
  return "05c split_k";
}

static __global__ void any_kernel() {}
bool has_kernels_of_clusters() {
  return is_there(any_kernel);
}

}  // namespace ladder::library
