#include "16_fused_epilogue.cuh"
#include "epilogue_apart.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder::fused_epilogue;
  using Problem = ladder::Gemm<half, half>;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  for (const auto& c : TOGETHER<half>)
    configurations.emplace_back("tile_" + name(c), [&c](const Problem& p) { gemm_of_tiles(c, p); });
  for (const auto& c : IN_TURN<half>)
    configurations.emplace_back("in_turn_" + name(c),
                                [&c](const Problem& p) { gemm_of_tiles(c, p); });
  using ladder::harness::Rounds;
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"unfused", gemm_and_epilogue<Within::NOTHING, half>, nullptr, Rounds::TWICE},
          {"bias_fused", gemm_and_epilogue<Within::BIAS, half>, nullptr, Rounds::TWICE},
          {"one_block_a_tile", gemm_one_block_a_tile<half>},
          {"in_turn", gemm_in_turn<half>},
          {"fused_epilogue", gemm<half>},
      },
      argc, argv, configurations);
}
