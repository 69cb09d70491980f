#include "05e_few_rows.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder::few_rows_fp32;
  std::vector<ladder::harness::Variant<float, float>> configurations;
  for (const Configuration& c : CONFIGURATIONS)
    configurations.emplace_back("tile_" + name(c),
                                [&c](const ladder::Gemm<float, float>& p) { gemm_as(c, p); });
  return ladder::harness::run<float, float>(
      ladder::STAGE,
      {
          {"one_step_ahead", gemm_with<true>, workspace_bytes_with<true>},
          {"few_rows", gemm, workspace_bytes},
      },
      argc, argv, configurations);
}
