#include "memory.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <new>

namespace cpu_device {
namespace {

// Untouched pages cost address space only.
constexpr size_t SURROUNDINGS = size_t{16} << 20;

// By the first address of the surroundings.
std::map<uintptr_t, Allocation>& allocations() {
  static std::map<uintptr_t, Allocation> all;
  return all;
}
uint64_t version = 0;

Allocation* find(uintptr_t address) {
  auto after = allocations().upper_bound(address);
  if (after == allocations().begin()) return nullptr;
  Allocation& allocation = std::prev(after)->second;
  return address < allocation.outer_end ? &allocation : nullptr;
}

}  // namespace

void* allocate(size_t bytes) {
  const size_t total = bytes + 2 * SURROUNDINGS;
  void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  char* data = static_cast<char*>(base) + SURROUNDINGS;
  std::memset(data, 0xFF, bytes);
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const auto outer = reinterpret_cast<uintptr_t>(base);
  allocations()[outer] = {begin, begin + bytes, outer, outer + total, "global memory"};
  ++version;
  return data;
}

void deallocate(void* pointer) {
  const Allocation* allocation = find(reinterpret_cast<uintptr_t>(pointer));
  if (allocation == nullptr) return;
  const uintptr_t outer = allocation->outer_begin;
  munmap(reinterpret_cast<void*>(outer), allocation->outer_end - outer);
  allocations().erase(outer);
  ++version;
}

void name_allocation(const void* pointer, const std::string& name) {
  if (Allocation* allocation = find(reinterpret_cast<uintptr_t>(pointer))) allocation->name = name;
}

const Allocation* find_allocation(uintptr_t address) {
  return find(address);
}

Allocated allocated() {
  if (allocations().empty()) return {0, 0, version};
  return {allocations().begin()->second.outer_begin, allocations().rbegin()->second.outer_end,
          version};
}

}  // namespace cpu_device
