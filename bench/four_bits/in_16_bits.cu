// What stages race, compiled once for all of them: 14 has seventy kernels.
#include "14_few_rows.cuh"
#include "case.h"

namespace ladder::four_bits_bench {

void in_16_bits(const Gemm<half, half>& p) {
  few_rows::gemm(p);
}
void in_16_bits(const Gemm<bf16, bf16>& p) {
  few_rows::gemm(p);
}

}  // namespace ladder::four_bits_bench
