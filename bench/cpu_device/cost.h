#pragma once
// What the hardware spends on one request of a warp: 32-byte sectors of global memory, wavefronts
// of shared memory.
#include <cstdint>

#include "block.h"

namespace cpu_device {

// What the lanes of a warp asked for with one instruction: offsets in an array. Arrays begin at
// multiples of every unit.
struct Request {
  uint32_t mask = 0;
  uint32_t offset[WARP];
};

struct Cost {
  unsigned actual, ideal;
};

Cost global_cost(const Request& request, unsigned bytes);
Cost shared_cost(const Request& request, unsigned bytes);

}  // namespace cpu_device
