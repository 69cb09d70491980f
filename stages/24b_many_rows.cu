#include "24b_many_rows.cuh"
#include "four_bits/run.h"

int main(int argc, char** argv) {
  return ladder::four_bits_bench::run(
      "24b_many_rows",
      {{"scaled_sums", false, [](const auto& p) { ladder::four_bits::gemm(p.four); }},
       {"many_rows", true, [](const auto& p) { ladder::many_rows::gemm(p.four); }}},
      argc, argv);
}
