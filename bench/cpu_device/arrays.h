#pragma once
// Which array an address belongs to: an allocation in global memory, a __shared__ array or the
// block's dynamic shared memory.
#include <cstdint>
#include <string>

#include "memory.h"
#include "symbols.h"
#include "trace.h"

namespace cpu_device {

struct Array {
  uintptr_t begin, extent;
  std::string name;
};

// As one OS thread sees them.
class Arrays {
 public:
  void cover(const void* dynamic_shared);

  uintptr_t static_begin() const { return static_begin_; }
  uintptr_t static_bytes() const { return static_bytes_; }
  uintptr_t dynamic_begin() const { return dynamic_begin_; }
  bool is_static_shared(uintptr_t address) {
    return address - static_begin_ < static_bytes_ && shared_array_at(address) != nullptr;
  }
  bool is_dynamic_shared(uintptr_t address) const;

  const Allocation* allocation_at(uintptr_t address);
  // The address is known to be in that space.
  Array at(uintptr_t address, Space space);

 private:
  const SharedArray* shared_array_at(uintptr_t address);

  uintptr_t static_begin_ = 0, static_bytes_ = 0, dynamic_begin_ = 0;
  const Allocation* last_ = nullptr;
  const SharedArray* last_array_ = nullptr;
};

}  // namespace cpu_device
