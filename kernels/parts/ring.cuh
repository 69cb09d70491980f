#pragma once
// Buffers that are filled and multiplied in turn.
#include "../launch.cuh"

namespace ladder {

// Which one comes next, and whether its round is odd.
struct Ring {
  unsigned buffers;
  unsigned buffer = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void next() {
    if (++buffer < buffers) return;
    buffer = 0;
    parity ^= 1;
  }
};

}  // namespace ladder
