#include "05e_few_rows.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder::few_rows;
  std::vector<ladder::harness::Variant<float, float>> configurations;
  for (const Configuration& c : CONFIGURATIONS)
    configurations.emplace_back(name(c),
                                [&c](const ladder::Gemm<float, float>& p) { gemm_as(c, p); });
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
