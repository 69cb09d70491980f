#include "profiler.h"

#include <nvtx3/nvToolsExt.h>

#include <cstdlib>

namespace ladder::harness {

bool under_profiler() {
  // ncu sets this for the processes it starts.
  return std::getenv("NV_COMPUTE_PROFILER_PERFWORKS_DIR") != nullptr;
}

ProfilerRange::ProfilerRange(const char* name) {
  nvtxRangePushA(name);
}
ProfilerRange::~ProfilerRange() {
  nvtxRangePop();
}

}  // namespace ladder::harness
