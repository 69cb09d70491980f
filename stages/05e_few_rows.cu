#include <array>

#include "05e_few_rows.cuh"
#include "stage.h"

namespace ladder::few_rows_fp32 {
namespace {

// What else might be chosen among: timed beside the others, until the table is settled.
#if !defined(LADDER_CPU_DEVICE) || defined(LADDER_CANDIDATES)
constexpr Configuration CANDIDATES[] = {
    configuration<1, 128, 8, 5, 4>(),  configuration<1, 128, 4, 8, 4>(),
    configuration<1, 64, 16, 3, 2>(),  configuration<1, 32, 16, 3, 1>(),
    configuration<1, 32, 4, 4, 1>(),   configuration<1, 64, 8, 2, 2>(),
    configuration<4, 128, 4, 4, 4>(),  configuration<4, 64, 16, 3, 2>(),
    configuration<16, 128, 4, 3, 4>(), configuration<8, 128, 4, 4, 4>(),
    configuration<8, 64, 16, 2, 2>(),  configuration<8, 64, 4, 4, 2>(),
    configuration<16, 128, 8, 4, 2>(), configuration<16, 128, 8, 4, 4>(),
    configuration<16, 128, 4, 8, 4>(), configuration<16, 64, 8, 3, 2>(),
    configuration<16, 64, 8, 5, 2>(),  configuration<16, 64, 12, 3, 2>(),
    configuration<16, 64, 4, 4, 2>(),  configuration<16, 64, 4, 8, 2>(),
    configuration<16, 64, 8, 4, 1>(),  configuration<16, 64, 8, 4, 4>(),
    configuration<16, 32, 8, 3, 1>(),  configuration<16, 32, 4, 4, 1>(),
    configuration<16, 32, 8, 4, 2>(),  configuration<32, 128, 8, 4, 4>(),
    configuration<32, 128, 4, 4, 4>(), configuration<32, 64, 4, 4, 2>()};
#else
constexpr std::array<Configuration, 0> CANDIDATES{};
#endif

}  // namespace
}  // namespace ladder::few_rows_fp32

int main(int argc, char** argv) {
  using namespace ladder::few_rows_fp32;
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
          {"no_clusters", gemm_without<LeftOut::CLUSTERS>,
           workspace_bytes_without<LeftOut::CLUSTERS>},
          {"one_step_ahead", gemm_without<LeftOut::AHEAD>, workspace_bytes_without<LeftOut::AHEAD>},
          {"few_rows", gemm, workspace_bytes},
      },
      argc, argv, configurations);
}
