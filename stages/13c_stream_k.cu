#include "13c_stream_k.cuh"
#include "stage.h"
#include "stream_k_choice.cuh"

int main(int argc, char** argv) {
  namespace stage = ladder::stream_k;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  for (const auto& c : stage::CONFIGURATIONS<half>)
    configurations.emplace_back(
        "tile_" + name(c), [&c](const ladder::Gemm<half, half>& p) { gemm_as(c, p); }, c.bytes);
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"whole_tiles", stage::gemm_of_whole_tiles<half>},
          {"stream_k", stage::gemm<half>, stage::workspace_bytes<half>},
      },
      argc, argv, configurations);
}
