#include "19_tf32.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder;
  using harness::Rounds;
  using tf32_products::gemm, tf32_products::workspace_bytes, tf32_products::Way;
  std::vector<harness::Variant<tf32, float>> configurations;
  for (const tf32_products::Configuration& c : tf32_products::CONFIGURATIONS<Way::ROUNDED>)
    configurations.emplace_back(
        "tile_" + name(c), [&c](const tf32_products::Problem& p) { tf32_products::gemm_as(c, p); },
        workspace_bytes<Way::ROUNDED>, Rounds::TF32);
  return harness::run<tf32, float>(
      STAGE,
      {
          {"cut", gemm<Way::CUT>, workspace_bytes<Way::CUT>, Rounds::CUT_TO_TF32},
          {"three_products", gemm<Way::THREE>, workspace_bytes<Way::THREE>, Rounds::SPLIT},
          {"tf32", gemm<>, workspace_bytes<Way::ROUNDED>, Rounds::TF32},
      },
      argc, argv, configurations);
}
