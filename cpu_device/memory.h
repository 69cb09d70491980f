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
  std::string name;                  // "global memory" until name_matrix
  // Of a matrix: bytes from row to row, of the part of a row that may be stored to, of an element.
  size_t pitch = 0, row_bytes = 0, element_bytes = 0;
};

// 256-byte aligned, every byte 0xFF (NaN in fp32 and fp16), or 0 in allocations of more than 4 GiB,
// whose pages exist where they are touched. Throws std::bad_alloc.
void* allocate(size_t bytes);
void deallocate(void* pointer);

// Says what lies at `pointer`, within an allocation whose remainder then belongs to nobody: `rows`
// rows of `pitch` bytes, of which kernels may write `row_bytes`. Of nothing without rows or pitch.
void name_matrix(const void* pointer, const std::string& name, size_t rows, size_t pitch,
                 size_t row_bytes, size_t element_bytes);
// Something without rows.
inline void name_array(const void* pointer, const std::string& name, size_t bytes) {
  name_matrix(pointer, name, 1, bytes, bytes, 1);
}

// Whether an access near an allocation is to what is its own, and not to the end of a row either
// where it is a store.
inline bool is_inside(const Allocation& a, uintptr_t address, unsigned bytes, bool is_store) {
  if (address < a.begin || address + bytes > a.end) return false;
  return !is_store || a.row_bytes == a.pitch ||
         (address - a.begin) % a.pitch + bytes <= a.row_bytes;
}
// For one that is not: its cause, "writes past the end of C", and where it goes.
struct StrayAccess {
  std::string cause, position;
};
StrayAccess stray_access(const Allocation& allocation, uintptr_t address, unsigned bytes,
                         bool is_store);
// "1000 bytes past the end of A": of the allocation that is nearest, or "".
std::string describe_address(uintptr_t address);

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
