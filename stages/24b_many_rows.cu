#include "24b_many_rows.cuh"
#include "four_bits/run.h"

using ladder::four_bits_bench::Numbers;

int main(int argc, char** argv) {
  return ladder::four_bits_bench::run("24b_many_rows",
                                      {{"scaled_sums", Numbers::FOUR_BITS, false,
                                        [](const auto& p) { ladder::four_bits::gemm(p.four); }},
                                       {"many_rows", Numbers::FOUR_BITS, true,
                                        [](const auto& p) { ladder::many_rows::gemm(p.four); }}},
                                      argc, argv);
}
