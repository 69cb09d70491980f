// A batch in one launch of 21, or one for each 64 products.
#include "../21_grouped.cuh"
#include "batch.cuh"
#include "launch.h"

namespace ladder::library {

void launch_groups(Gemm<half, half> p, int count) {
  p.M *= count;
  p.groups.count = count;
  grouped::gemm(p);
}

template <class T>
void launch_batch(const Gemm<T, T>& p, const Matrices<T, T>* matrices, int count) {
  batch::gemm(p, matrices, count);
}
template void launch_batch(const Gemm<half, half>&, const Matrices<half, half>*, int);
template void launch_batch(const Gemm<bf16, bf16>&, const Matrices<bf16, bf16>*, int);

}  // namespace ladder::library
