#include "24_four_bits.cuh"
#include "four_bits/run.h"

using ladder::four_bits_bench::Numbers, ladder::four_bits_bench::in_16_bits;

int main(int argc, char** argv) {
  return ladder::four_bits_bench::run(
      "24_four_bits",
      {{"in_16_bits", Numbers::FOUR_BITS, true, [](const auto& p) { in_16_bits(p.sixteen); }},
       {"four_bits", Numbers::FOUR_BITS, false,
        [](const auto& p) { ladder::four_bits::gemm(p.four); }}},
      argc, argv);
}
