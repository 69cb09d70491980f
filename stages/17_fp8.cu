#include "17_fp8.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder;
  std::vector<harness::Variant<e4m3, bf16>> configurations;
  for (const fp8::Configuration<e4m3>& c : fp8::CONFIGURATIONS<e4m3>)
    configurations.emplace_back("tile_" + name(c),
                                [&c](const Gemm<e4m3, bf16>& p) { gemm_as(c, p); });
  return harness::run<e4m3, bf16>(STAGE,
                                  {
                                      {"one_tile", fp8::gemm_128x256<e4m3>},
                                      {"fp8", fp8::gemm<e4m3>},
                                  },
                                  argc, argv, configurations);
}
