#include "13b_ping_pong.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  namespace stage = ladder::ping_pong;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  for (const auto& c : stage::CONFIGURATIONS<half>)
    configurations.emplace_back("tile_" + name(c),
                                [&c](const ladder::Gemm<half, half>& p) { gemm_as(c, p); });
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"together", stage::gemm_in_order<stage::Order::TOGETHER, half>},
          {"stores_in_turn", stage::gemm_in_order<stage::Order::STORES_IN_TURN, half>},
          {"ping_pong", stage::gemm<half>},
      },
      argc, argv, configurations);
}
