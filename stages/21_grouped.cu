#include "21_grouped.cuh"
#include "one_by_one.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  namespace stage = ladder::grouped;
  using Problem = ladder::Gemm<half, half>;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  for (const auto& c : stage::CONFIGURATIONS)
    configurations.emplace_back("tile_" + name(c), [&c](const Problem& p) { gemm_as(c, p); });
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {{"one_by_one", stage::gemm_one_by_one},
                                           {"of_the_mean", stage::gemm_of_mean},
                                           {"grouped", stage::gemm}},
                                          argc, argv, configurations);
}
