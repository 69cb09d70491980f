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
  uint32_t to[WARP];  // of a cp.async's read: where in shared memory its bytes go
};

constexpr unsigned SECTOR_BYTES = 32;

struct Cost {
  unsigned actual, ideal;
};

Cost global_cost(const Request& request, unsigned bytes);
// Of a cp.async of 16 bytes past L1.
Cost copied_cost(const Request& request);
// The sectors that it asks L2 for.
unsigned fetched_sectors(const Request& request);
Cost shared_cost(const Request& request, unsigned bytes, bool load);

}  // namespace cpu_device
