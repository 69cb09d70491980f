#include "14b_without_tiles.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder::without_tiles;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  // Tests take a while.
  for (size_t i = 1; i < std::size(CONFIGURATIONS); i += 3)
    configurations.emplace_back(name_of(CONFIGURATIONS[i]), CONFIGURATIONS[i].launch);
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"one_ahead", gemm_one_ahead},
                                              {"one_block_a_tile", gemm_one_block_a_tile},
                                              {"without_tiles", gemm},
                                          },
                                          argc, argv, configurations);
}
