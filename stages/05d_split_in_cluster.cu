#include <array>

#include "05d_split_in_cluster.cuh"
#include "stage.h"

namespace ladder::split_in_cluster {
namespace {

// What else might be chosen among: timed beside the others, until the table is settled.
#if !defined(LADDER_CPU_DEVICE) || defined(LADDER_CANDIDATES)
constexpr Configuration CANDIDATES[] = {
    configuration<256, 128, 8, 16, 8, 1, 1>(0),  configuration<256, 128, 8, 16, 8, 1, 2>(0),
    configuration<128, 256, 8, 16, 8, 1, 4>(0),  configuration<128, 128, 16, 16, 8, 2, 1>(0),
    configuration<128, 128, 16, 16, 8, 2, 2>(0), configuration<128, 128, 16, 8, 8, 1, 1>(0),
    configuration<128, 128, 16, 8, 8, 1, 2>(0),  configuration<128, 128, 8, 8, 8, 1, 8>(0),
    configuration<128, 64, 8, 8, 8, 1, 1>(0),    configuration<128, 64, 8, 8, 8, 1, 2>(0),
    configuration<128, 64, 8, 8, 8, 1, 4>(0),    configuration<128, 64, 16, 8, 8, 2, 4>(0),

    configuration<64, 128, 8, 8, 8, 1, 1>(0),    configuration<64, 128, 8, 8, 8, 1, 2>(0),
    configuration<64, 128, 16, 8, 8, 2, 1>(0),   configuration<64, 128, 16, 8, 8, 2, 2>(0),
    configuration<64, 128, 16, 8, 8, 2, 4>(0),   configuration<64, 64, 16, 8, 8, 2, 1>(0),
    configuration<64, 64, 16, 8, 8, 2, 2>(0),    configuration<64, 64, 16, 8, 8, 2, 4>(0),
    configuration<64, 64, 32, 8, 8, 4, 8>(0),    configuration<64, 64, 16, 8, 4, 1, 1>(0),
    configuration<64, 64, 16, 8, 4, 1, 2>(0),    configuration<64, 64, 32, 8, 4, 2, 1>(0),
    configuration<64, 64, 32, 8, 4, 2, 2>(0),    configuration<64, 64, 32, 8, 4, 2, 4>(0),
    configuration<64, 32, 32, 8, 4, 2, 2>(0),    configuration<64, 32, 32, 8, 4, 4, 4>(0),
    configuration<32, 128, 32, 8, 8, 4, 4>(0),   configuration<32, 64, 32, 4, 8, 4, 1>(0),
    configuration<32, 64, 32, 4, 8, 4, 2>(0),    configuration<32, 32, 64, 8, 4, 8, 1>(0),
    configuration<32, 32, 64, 8, 4, 8, 2>(0),    configuration<16, 128, 16, 4, 8, 2, 1>(0),
    configuration<16, 64, 32, 4, 8, 4, 1>(0),    configuration<16, 64, 32, 4, 8, 4, 2>(0),
    configuration<16, 64, 32, 4, 8, 4, 4>(0)};
#else
constexpr std::array<Configuration, 0> CANDIDATES{};
#endif

}  // namespace
}  // namespace ladder::split_in_cluster

int main(int argc, char** argv) {
  using namespace ladder::split_in_cluster;
  std::vector<ladder::harness::Variant<float, float>> configurations;
  const auto add = [&](const Configuration& c) {
    configurations.emplace_back(name(c),
                                [&c](const ladder::Gemm<float, float>& p) { gemm_as(c, p); });
  };
  for (const Configuration& c : CONFIGURATIONS) add(c);
  for (const Configuration& c : CANDIDATES) add(c);
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"one_tile", gemm_without<LeftOut::TILES>, workspace_bytes_without<LeftOut::TILES>},
          {"no_slices", gemm_without<LeftOut::SLICES>, workspace_bytes_without<LeftOut::SLICES>},
          {"no_clusters", gemm_without<LeftOut::CLUSTERS>,
           workspace_bytes_without<LeftOut::CLUSTERS>},
          {"through_workspace", gemm_through_workspace, workspace_bytes_through_workspace},
          {"split_in_cluster", gemm, workspace_bytes},
      },
      argc, argv, configurations);
}
