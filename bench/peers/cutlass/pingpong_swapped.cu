#include "kernel.cuh"

namespace ladder::peers {

void add_pingpong_swapped(std::vector<CutlassKernel>& kernels) {
  using namespace schedules;
  add_swapped_kernels<PingPong, Tile<64, 16, 128>, Cluster<1, 1>>(kernels);
  add_swapped_kernels<PingPong, Tile<64, 64, 128>, Cluster<1, 1>>(kernels);
}

}  // namespace ladder::peers
