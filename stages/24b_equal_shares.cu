#include "24b_equal_shares.cuh"
#include "four_bits/run.h"

int main(int argc, char** argv) {
  using ladder::bf16;
  using ladder::four_bits_bench::Problem;
  return ladder::four_bits_bench::run(
      "24b_equal_shares",
      {{"whole_tiles", false, [](const Problem<half>& p) { ladder::four_bits::gemm(p.four); },
        [](const Problem<bf16>& p) { ladder::four_bits::gemm(p.four); }},
       {"equal_shares", false, [](const Problem<half>& p) { ladder::equal_shares::gemm(p.four); },
        [](const Problem<bf16>& p) { ladder::equal_shares::gemm(p.four); },
        ladder::equal_shares::workspace_bytes<bf16>}},
      argc, argv);
}
