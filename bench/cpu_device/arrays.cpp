#include "arrays.h"

#include "block.h"

namespace cpu_device {

void Arrays::cover(const void* dynamic_shared) {
  const ThreadLocalStorage storage = thread_local_storage();
  static_begin_ = storage.begin;
  static_bytes_ = storage.bytes;
  dynamic_begin_ = reinterpret_cast<uintptr_t>(dynamic_shared);
}

bool Arrays::is_dynamic_shared(uintptr_t address) const {
  return address - dynamic_begin_ < MAX_SHARED_BYTES;
}

const Allocation* Arrays::allocation_at(uintptr_t address) {
  if (last_ == nullptr || address < last_->begin || address >= last_->end)
    last_ = find_allocation(address);
  return last_;
}

Array Arrays::at(uintptr_t address, Space space) {
  if (space == Space::GLOBAL) {
    const Allocation& a = *allocation_at(address);
    return {a.begin, a.end - a.begin, a.name};
  }
  if (is_dynamic_shared(address)) return {dynamic_begin_, MAX_SHARED_BYTES, "dynamic"};
  const SharedArray& array = *shared_array_at(address);
  return {static_begin_ + array.offset, array.bytes, array.name};
}

// Other thread-local variables of the program lie among the __shared__ arrays.
const SharedArray* Arrays::shared_array_at(uintptr_t address) {
  const uintptr_t offset = address - static_begin_;
  if (last_array_ != nullptr && offset - last_array_->offset < last_array_->bytes)
    return last_array_;
  for (const SharedArray& array : shared_arrays())
    if (offset - array.offset < array.bytes) return last_array_ = &array;
  return nullptr;
}

}  // namespace cpu_device
