#include "kernel.cuh"

namespace ladder::peers {

void add_pingpong_128x128(std::vector<CutlassKernel>& kernels) {
  using namespace schedules;
  add_kernels<PingPong, Tile<128, 128, 64>, Cluster<1, 1>, Cluster<2, 1>, Cluster<1, 2>>(kernels);
}

}  // namespace ladder::peers
