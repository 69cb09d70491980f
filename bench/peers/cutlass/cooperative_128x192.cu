#include "kernel.cuh"

namespace ladder::peers {

void add_cooperative_128x192(std::vector<CutlassKernel>& kernels) {
  using namespace schedules;
  add_kernels<Cooperative, Tile<128, 192, 64>, Cluster<1, 1>, Cluster<2, 1>>(kernels);
}

}  // namespace ladder::peers
