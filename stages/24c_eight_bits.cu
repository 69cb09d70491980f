#include "24c_eight_bits.cuh"
#include "four_bits/run.h"

using ladder::four_bits_bench::Numbers;

int main(int argc, char** argv) {
  return ladder::four_bits_bench::run(
      "24c_eight_bits",
      {{"in_16_bits", Numbers::INT8, true,
        [](const auto& p) { ladder::few_rows::gemm(p.sixteen); }},
       {"int8", Numbers::INT8, true, [](const auto& p) { ladder::eight_bits::gemm(p.int8); }},
       {"e4m3", Numbers::E4M3, true, [](const auto& p) { ladder::eight_bits::gemm(p.e4m3); }}},
      argc, argv);
}
