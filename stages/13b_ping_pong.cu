#include "13b_ping_pong.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  using namespace ladder::ping_pong;
  std::vector<ladder::harness::Variant<half, half>> configurations;
  for (const Configuration<half>& c : CONFIGURATIONS<half>)
    configurations.emplace_back("tile_" + name(c),
                                [&c](const ladder::Gemm<half, half>& p) { gemm_as(c, p); });
  return ladder::harness::run<half, half>(
      ladder::STAGE,
      {
          {"together", gemm_in_order<Order::TOGETHER, half>},
          {"stores_in_turn", gemm_in_order<Order::STORES_IN_TURN, half>},
          {"ping_pong", gemm<half>},
      },
      argc, argv, configurations);
}
