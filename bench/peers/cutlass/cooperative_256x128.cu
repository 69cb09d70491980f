#include "kernel.cuh"

namespace ladder::peers {

void add_cooperative_256x128(std::vector<CutlassKernel>& kernels) {
  using namespace schedules;
  add_kernels<Cooperative, Tile<256, 128, 64>, Cluster<1, 1>, Cluster<2, 1>, Cluster<1, 2>>(
      kernels);
}

}  // namespace ladder::peers
