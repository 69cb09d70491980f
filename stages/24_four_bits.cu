#include "24_four_bits.cuh"
#include "four_bits/run.h"

int main(int argc, char** argv) {
  using ladder::bf16;
  using ladder::four_bits_bench::Problem;
  return ladder::four_bits_bench::run(
      "24_four_bits",
      {{"in_16_bits", true, [](const Problem<half>& p) { ladder::few_rows::gemm(p.sixteen); },
        [](const Problem<bf16>& p) { ladder::few_rows::gemm(p.sixteen); }},
       {"four_bits", false, [](const Problem<half>& p) { ladder::four_bits::gemm(p.four); },
        [](const Problem<bf16>& p) { ladder::four_bits::gemm(p.four); }}},
      argc, argv);
}
