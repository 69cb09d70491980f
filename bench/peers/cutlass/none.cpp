#include "../cutlass.h"

namespace ladder::peers {

std::vector<CutlassKernel> cutlass_kernels() {
  return {};
}

}  // namespace ladder::peers
