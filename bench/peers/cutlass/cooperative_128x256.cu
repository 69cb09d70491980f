#include "kernel.cuh"

namespace ladder::peers {

void add_cooperative_128x256(std::vector<CutlassKernel>& kernels) {
  using namespace schedules;
  add_kernels<Cooperative, Tile<128, 256, 64>, Cluster<1, 1>, Cluster<2, 1>, Cluster<1, 2>>(
      kernels);
}

}  // namespace ladder::peers
