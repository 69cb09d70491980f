#include "14_few_rows.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder::few_rows;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  // Tests take a while: these have each of the numbers once or twice.
  for (size_t i = 0; i < std::size(CONFIGURATIONS<half>); i += 7)
    for (const int blocks : {1, 3}) {
      const Configuration<half>& c = CONFIGURATIONS<half>[i];
      if (c.buffers(blocks) > 1)
        configurations.emplace_back(
            name_of(c, blocks),
            [&c, blocks](const ladder::Gemm<half, half>& p) { gemm_as(c, p, blocks); });
    }
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"one_block_a_tile", gemm_16x64<1, Sums::ALONE>},
          {"workspace", gemm_16x64<2, Sums::WORKSPACE>, workspace_bytes<16, 64, 2, half>},
          {"fetched", gemm_16x64<2, Sums::FETCHED>},
          {"k_in_a_row", gemm_k_in_a_row},
          {"barriers_first", gemm_barriers_first},
          {"sent", gemm_16x64<2, Sums::SENT>},
          {"few_rows", gemm<half>},
      },
      argc, argv, configurations);
}
