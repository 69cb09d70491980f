#pragma once
// Which array an address belongs to: an allocation in global memory, a __shared__ array or the
// block's dynamic shared memory.
#include <cstdint>
#include <string>
#include <vector>

#include "memory.h"
#include "symbols.h"
#include "trace.h"

namespace cpu_device {

struct Array {
  uintptr_t begin, extent;
  std::string name;
};

class Team;

// As one OS thread sees them.
class Arrays {
 public:
  void cover(Team& team);

  uintptr_t static_begin() const { return static_begin_; }
  uintptr_t static_bytes() const { return static_bytes_; }
  // Other thread-local variables of the program lie among the __shared__ arrays.
  bool is_static_shared(uintptr_t address) const {
    const uintptr_t word = (address - static_begin_) / WORD_BYTES;
    return word < is_shared_.size() && is_shared_[word];
  }

  // As find_allocation, which is asked where the answer is not one of the last.
  const Allocation* allocation_at(uintptr_t address) {
    if (address - allocated_.begin >= allocated_.end - allocated_.begin) return nullptr;
    for (const Allocation* known : known_)
      if (known != nullptr && address - known->outer_begin < known->outer_end - known->outer_begin)
        return known;
    return look_up(address);
  }
  // The address is known to be in that space.
  Array at(uintptr_t address, Space space);

 private:
  static constexpr unsigned WORD_BYTES = 4, KNOWN = 4;
  const SharedArray* shared_array_at(uintptr_t address) const;
  const Allocation* look_up(uintptr_t address);

  uintptr_t static_begin_ = 0, static_bytes_ = 0;
  uintptr_t dynamic_begin_ = 0;  // of the first block
  std::vector<bool> is_shared_;  // by word of the static region
  Allocated allocated_;
  const Allocation* known_[KNOWN] = {};
  unsigned oldest_ = 0;
};

}  // namespace cpu_device
