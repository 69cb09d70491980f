#include "19_tf32.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder;
  using namespace ladder::tf32_products;
  using harness::Rounds;
  std::vector<harness::Variant<tf32, float>> configurations;
  for (const Configuration& c : CONFIGURATIONS)
    configurations.emplace_back(
        "tile_" + name(c), [&c](const Problem& p) { gemm_as<Way::ROUNDED>(c, p); },
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
