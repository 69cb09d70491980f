#include "arrays.h"

#include <algorithm>

#include "block.h"

namespace cpu_device {

void Arrays::cover(Team& team) {
  const ThreadLocalStorage storage = thread_local_storage();
  dynamic_begin_ = reinterpret_cast<uintptr_t>(team.block(0).dynamic_shared());
  if (storage.begin != static_begin_ || storage.bytes != static_bytes_) {
    static_begin_ = storage.begin;
    static_bytes_ = storage.bytes;
    is_shared_.assign(static_bytes_ / WORD_BYTES + 1, false);
    for (const SharedArray& array : shared_arrays())
      for (uintptr_t i = 0; i < array.bytes; ++i)
        is_shared_[(array.offset + i) / WORD_BYTES] = true;
  }
  const Allocated now = allocated();
  if (now.version != allocated_.version) std::fill_n(known_, KNOWN, nullptr);
  allocated_ = now;
}

const Allocation* Arrays::look_up(uintptr_t address) {
  const Allocation* found = find_allocation(address);
  if (found != nullptr) known_[oldest_++ % KNOWN] = found;
  return found;
}

Array Arrays::at(uintptr_t address, Space space) {
  if (space == Space::GLOBAL) {
    const Allocation& a = *allocation_at(address);
    return {a.begin, a.end - a.begin, a.name};
  }
  if (address - dynamic_begin_ < MAX_SHARED_BYTES)
    return {dynamic_begin_, MAX_SHARED_BYTES, "dynamic"};
  const SharedArray& array = *shared_array_at(address);
  return {static_begin_ + array.offset, array.bytes, array.name};
}

const SharedArray* Arrays::shared_array_at(uintptr_t address) const {
  for (const SharedArray& array : shared_arrays())
    if (address - static_begin_ - array.offset < array.bytes) return &array;
  return nullptr;
}

}  // namespace cpu_device
