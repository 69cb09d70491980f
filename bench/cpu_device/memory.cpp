#include "memory.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <new>

namespace cpu_device {
namespace {

// Untouched pages cost address space only.
constexpr size_t SURROUNDINGS = size_t{16} << 20;

struct Mapping {
  Allocation allocation;
  void* base;
  size_t bytes;
};
// By the first address of the surroundings.
std::map<uintptr_t, Mapping>& mappings() {
  static std::map<uintptr_t, Mapping> all;
  return all;
}

Mapping* find(uintptr_t address) {
  auto after = mappings().upper_bound(address);
  if (after == mappings().begin()) return nullptr;
  Mapping& mapping = std::prev(after)->second;
  return address < reinterpret_cast<uintptr_t>(mapping.base) + mapping.bytes ? &mapping : nullptr;
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
  mappings()[reinterpret_cast<uintptr_t>(base)] = {
      {begin, begin + bytes, "global memory"}, base, total};
  return data;
}

void deallocate(void* pointer) {
  const Mapping* mapping = find(reinterpret_cast<uintptr_t>(pointer));
  if (mapping == nullptr) return;
  void* base = mapping->base;
  munmap(base, mapping->bytes);
  mappings().erase(reinterpret_cast<uintptr_t>(base));
}

void name_allocation(const void* pointer, const std::string& name) {
  if (Mapping* mapping = find(reinterpret_cast<uintptr_t>(pointer)))
    mapping->allocation.name = name;
}

const Allocation* find_allocation(uintptr_t address) {
  const Mapping* mapping = find(address);
  return mapping == nullptr ? nullptr : &mapping->allocation;
}

}  // namespace cpu_device
