#include "24b_many_rows.cuh"
#include "four_bits/run.h"

int main(int argc, char** argv) {
  using ladder::bf16;
  using ladder::four_bits_bench::Problem;
  return ladder::four_bits_bench::run(
      "24b_many_rows",
      {{"scaled_sums", false, [](const Problem<half>& p) { ladder::four_bits::gemm(p.four); },
        [](const Problem<bf16>& p) { ladder::four_bits::gemm(p.four); }},
       {"many_rows", true, [](const Problem<half>& p) { ladder::many_rows::gemm(p.four); },
        [](const Problem<bf16>& p) { ladder::many_rows::gemm(p.four); }}},
      argc, argv);
}
