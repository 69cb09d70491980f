#pragma once
// The swizzle of TMA and wgmma.
#include <cstdint>

namespace cpu_device {

// Where the byte at a shared address lies: the 16-byte chunk's number in its `span` (32, 64 or 128
// bytes; 0: no swizzle) XOR the number of its 128 bytes. It goes by the address itself, not by the
// distance from a tile's beginning.
constexpr uint32_t swizzled_address(uint32_t address, unsigned span) {
  return span == 0 ? address : address ^ (address >> 3 & (span - 16));
}

}  // namespace cpu_device
