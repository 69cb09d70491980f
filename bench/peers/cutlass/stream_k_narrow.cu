#include "kernel.cuh"

namespace ladder::peers {

void add_stream_k_narrow(std::vector<CutlassKernel>& kernels) {
  using namespace schedules;
  add_kernels<StreamK, Tile<128, 64, 64>, Cluster<1, 1>>(kernels);
  add_swapped_kernels<StreamK, Tile<128, 128, 64>, Cluster<1, 1>>(kernels);
}

}  // namespace ladder::peers
