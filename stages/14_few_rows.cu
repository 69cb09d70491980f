#include "14_few_rows.cuh"
#include "partial_sums.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder;
  using namespace few_rows;
  using partial_sums::Variant;
  std::vector<harness::Variant<half, half>> configurations;
  // Tests take a while: these have each of the numbers once or twice.
  for (size_t i = 0; i < std::size(CONFIGURATIONS<half>); i += 7)
    for (const int blocks : {1, 3}) {
      const Configuration<half>& c = CONFIGURATIONS<half>[i];
      if (c.buffers(blocks) > 1)
        configurations.emplace_back(
            name_of(c, blocks), [&c, blocks](const Gemm<half, half>& p) { gemm_as(c, p, blocks); });
    }
  return harness::run<half, half>(
      STAGE,
      {
          {"one_block_a_tile", gemm_16x64<1>},
          {"workspace", partial_sums::gemm<Variant::WORKSPACE>, partial_sums::workspace_bytes},
          {"fetched", partial_sums::gemm<Variant::FETCHED>},
          {"k_in_a_row", partial_sums::gemm<Variant::K_IN_A_ROW>},
          {"barriers_first", partial_sums::gemm<Variant::BARRIERS_FIRST>},
          {"sent", gemm_16x64<2>},
          {"few_rows", gemm<half>},
      },
      argc, argv, configurations);
}
