#include "05d_split_in_cluster.cuh"
#include "stage.h"
#include "sums_through_workspace.cuh"

int main(int argc, char** argv) {
  using namespace ladder::split_in_cluster;
  std::vector<ladder::harness::Variant<float, float>> configurations;
  for (const Configuration& c : CONFIGURATIONS)
    configurations.emplace_back("tile_" + name(c),
                                [&c](const ladder::Gemm<float, float>& p) { gemm_as(c, p); });
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"no_slices", gemm_without<LeftOut::SLICES>, workspace_bytes_without<LeftOut::SLICES>},
          {"no_clusters", gemm_without<LeftOut::CLUSTERS>,
           workspace_bytes_without<LeftOut::CLUSTERS>},
          {"through_workspace", gemm_through_workspace, workspace_bytes_through_workspace},
          {"split_in_cluster", gemm, workspace_bytes},
      },
      argc, argv, configurations);
}
