#pragma once
// Who touched which byte of global memory in a launch: finds blocks that meet there, while nothing
// orders them. Blocks of one cluster count as one.
#include <cstdint>

#include "memory.h"
#include "place.h"

namespace cpu_device {

// An access of a cluster; clusters have numbers that no other of the launch has.
void touch_global(const Place& place, const Allocation& allocation, uintptr_t address,
                  unsigned bytes, bool is_store, uint64_t cluster);
// An atomic, which may order blocks: of this launch nothing is reported.
void blocks_may_be_ordered();
// Reports what was found in the launch that ends, and forgets all accesses.
void global_memory_of_next_launch();
// Whether this OS thread is in a function of these, which must not be left.
bool is_touching_global();

}  // namespace cpu_device
