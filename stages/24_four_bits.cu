#include "24_four_bits.cuh"
#include "four_bits/run.h"

using ladder::four_bits_bench::Numbers;

int main(int argc, char** argv) {
  return ladder::four_bits_bench::run("24_four_bits",
                                      {{"in_16_bits", Numbers::FOUR_BITS, true,
                                        [](const auto& p) { ladder::few_rows::gemm(p.sixteen); }},
                                       {"four_bits", Numbers::FOUR_BITS, false,
                                        [](const auto& p) { ladder::four_bits::gemm(p.four); }}},
                                      argc, argv);
}
