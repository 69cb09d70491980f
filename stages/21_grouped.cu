#include "21_grouped.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder::grouped;
  using Problem = ladder::Gemm<half, half>;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  for (const auto& c : CONFIGURATIONS)
    configurations.emplace_back("tile_" + name(c), [&c](const Problem& p) { gemm_as(c, p); });
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {{"one_by_one", gemm_one_by_one}, {"of_the_mean", gemm_of_mean}, {"grouped", gemm}}, argc,
      argv, configurations);
}
