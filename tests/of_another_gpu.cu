// A kernel that is compiled for one compute capability, and of which there is no PTX.
#include "library/is_there.cuh"

namespace ladder {

static __global__ void kernel() {}
bool of_another_gpu() {
  return library::is_there(kernel);
}

}  // namespace ladder
