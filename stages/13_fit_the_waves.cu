#include "11b_overlapped_stores.cuh"
#include "13_fit_the_waves.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder::fit_the_waves;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  for (const Configuration<half>& c : CONFIGURATIONS<half>)
    configurations.emplace_back("tile_" + name(c),
                                [&c](const ladder::Gemm<half, half>& p) { gemm_as(c, p); });
  configurations.emplace_back("tile_64x128_uneven", gemm_uneven<half>);
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"not_transposed", ladder::overlapped_stores::gemm},
          {"one_tile", gemm_128x256<half>},
          {"multiples_of_64", gemm_without<LeftOut::HEIGHTS, half>},
          {"no_pairs", gemm_without<LeftOut::PAIRS, half>},
          {"fit_the_waves", gemm<half>},
      },
      argc, argv, configurations);
}
