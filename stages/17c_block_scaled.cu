#include "17c_block_scaled.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder;
  std::vector<harness::Variant<e4m3, bf16>> configurations;
  for (const block_scaled::Configuration<e4m3>& c : block_scaled::CONFIGURATIONS<e4m3>)
    configurations.emplace_back("tile_" + name(c),
                                [&c](const Gemm<e4m3, bf16>& p) { gemm_as(c, p); });
  return harness::run<e4m3, bf16>(STAGE,
                                  {
                                      {"one_tile", block_scaled::gemm_192x128<e4m3>},
                                      {"block_scaled", block_scaled::gemm<e4m3>},
                                  },
                                  argc, argv, configurations);
}
