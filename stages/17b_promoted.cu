#include "17b_promoted.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder;
  std::vector<harness::Variant<e4m3, bf16>> configurations;
  for (const promoted::Configuration<e4m3>& c : promoted::CONFIGURATIONS<e4m3>)
    configurations.emplace_back("tile_" + name(c),
                                [&c](const Gemm<e4m3, bf16>& p) { gemm_as(c, p); });
  return harness::run<e4m3, bf16>(STAGE,
                                  {
                                      {"one_set", promoted::gemm_128x128<e4m3, 1>},
                                      {"two_sets", promoted::gemm_128x128<e4m3, 2>},
                                      {"promoted", promoted::gemm<e4m3>},
                                  },
                                  argc, argv, configurations);
}
