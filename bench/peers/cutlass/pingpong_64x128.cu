#include "kernel.cuh"

namespace ladder::peers {

void add_pingpong_64x128(std::vector<CutlassKernel>& kernels) {
  using namespace schedules;
  add_kernels<PingPong, Tile<64, 128, 64>, Cluster<1, 1>, Cluster<2, 1>>(kernels);
}

}  // namespace ladder::peers
