#include "11c_chosen_by_shape.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder::chosen_by_shape;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  for (const Configuration& c : CONFIGURATIONS)
    configurations.emplace_back(
        "columns_" + std::to_string(c.BN) + "_cluster_" + std::to_string(c.cluster),
        [&c](const ladder::Gemm<half, half>& p) { gemm_as(c, p); });
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"one_width", gemm_without<LeftOut::WIDTHS>},
                                              {"no_clusters", gemm_without<LeftOut::CLUSTERS>},
                                              {"all_blocks", gemm_without<LeftOut::BLOCKS>},
                                              {"chosen_by_shape", gemm},
                                          },
                                          argc, argv, configurations);
}
