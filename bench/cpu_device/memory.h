#pragma once
// The device's global memory: allocations with names and with room around them, in which stray
// accesses are seen instead of crashing.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cpu_device {

struct Allocation {
  uintptr_t begin, end;              // of what was asked for
  uintptr_t outer_begin, outer_end;  // with the room around it
  std::string name;                  // "global memory" until name_allocation
};

// 256-byte aligned, every byte 0xFF (NaN in fp32 and fp16). Throws std::bad_alloc.
void* allocate(size_t bytes);
void deallocate(void* pointer);
void name_allocation(const void* pointer, const std::string& name);

// The allocation that owns an address or whose surroundings contain it, or null. Not to be called
// while another thread allocates.
const Allocation* find_allocation(uintptr_t address);

// All allocations lie in it. `version` changes when find_allocation's answers may.
struct Allocated {
  uintptr_t begin = 0, end = 0;
  uint64_t version = 0;
};
Allocated allocated();

}  // namespace cpu_device
