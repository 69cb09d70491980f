#pragma once
// Variants of 21, to be compared with it: without the one launch, and without ends on the host.
#include "21_grouped.cuh"

namespace ladder::grouped {

// As if the ends were known to the device alone, which is so where a kernel before has made them.
inline void gemm_of_mean(Gemm<half, half> p) {
  require_valid_groups(p);
  p.groups.ends_on_host = nullptr;
  gemm(p);
}

// A launch for each group, with the tile that is best for it. The host has to know the ends.
inline void gemm_one_by_one(const Gemm<half, half>& p) {
  if (done_without_kernel_of_groups(p)) return;
  if (!p.groups.are_known_on_host())
    throw std::invalid_argument("a launch for each group needs their ends on the host, too");
  for (int g = 0; g < p.groups.count; ++g) gemm(product_of_group(p, g));
  if (p.groups.count == 0) gemm(p);
}

}  // namespace ladder::grouped
