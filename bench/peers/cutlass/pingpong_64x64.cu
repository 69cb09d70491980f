#include "kernel.cuh"

namespace ladder::peers {

void add_pingpong_64x64(std::vector<CutlassKernel>& kernels) {
  using namespace schedules;
  add_kernels<PingPong, Tile<64, 64, 64>, Cluster<1, 1>>(kernels);
  add_kernels<PingPong, Tile<64, 64, 128>, Cluster<1, 1>>(kernels);
}

}  // namespace ladder::peers
