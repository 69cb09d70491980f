#include "memory.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <new>

namespace cpu_device {
namespace {

// The room around an allocation, and as much again as the allocation has: an offset that does not
// fit into 32 bits leads there. Untouched pages cost address space only.
#ifdef __wasm__
constexpr size_t SURROUNDINGS = size_t{1} << 20;
#else
constexpr size_t SURROUNDINGS = size_t{16} << 20;
#endif
// Poison would touch every page; a larger allocation begins as zeros. Matrices with offsets beyond
// 2^31 are larger, also of numbers of 8 bits.
constexpr size_t MOST_POISONED = size_t{2} << 30;

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
  const size_t room = SURROUNDINGS + (bytes + 4095) / 4096 * 4096, total = bytes + 2 * room;
  void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  char* data = static_cast<char*>(base) + room;
  if (bytes <= MOST_POISONED) std::memset(data, 0xFF, bytes);
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
  const size_t bytes = allocation->outer_end - outer;
  // What was freed last stays out of bounds: memory of our own would be mapped there soon, and hide
  // accesses that come late.
  static void* last = nullptr;
  static size_t last_bytes = 0;
  if (last != nullptr) munmap(last, last_bytes);
  last = mmap(reinterpret_cast<void*>(outer), bytes, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  last_bytes = bytes;
  allocations().erase(outer);
  ++version;
}

void name_matrix(const void* pointer, const std::string& name, size_t rows, size_t pitch,
                 size_t row_bytes, size_t element_bytes) {
  Allocation* allocation = find(reinterpret_cast<uintptr_t>(pointer));
  if (allocation == nullptr) return;
  allocation->begin = reinterpret_cast<uintptr_t>(pointer);
  allocation->end = allocation->begin + rows * pitch;
  allocation->name = name;
  allocation->pitch = pitch;
  allocation->row_bytes = row_bytes;
  allocation->element_bytes = element_bytes;
  ++version;
}

StrayAccess stray_access(const Allocation& a, uintptr_t address, unsigned bytes, bool is_store) {
  const std::string verb = is_store ? "writes " : "reads ",
                    width = std::to_string(bytes) + " bytes";
  const size_t size = a.end - a.begin;
  if (address < a.begin)
    return {verb + "before " + a.name,
            width + ", " + std::to_string(a.begin - address) + " bytes before its beginning"};
  const size_t offset = address - a.begin;
  const std::string end = address + bytes > a.end ? "the end of " : "the end of a row of ";
  std::string position =
      width + " at byte " + std::to_string(offset) + " of " + std::to_string(size);
  if (a.element_bytes != 0 && size > 0)
    position = width + " at row " + std::to_string(offset / a.pitch) + ", column " +
               std::to_string(offset % a.pitch / a.element_bytes) + "; " + a.name + " is " +
               std::to_string(size / a.pitch) + " x " +
               std::to_string(a.row_bytes / a.element_bytes);
  return {verb + "past " + end + a.name, position};
}

std::string describe_address(uintptr_t address) {
  const Allocation* nearest = nullptr;
  const auto distance = [&](const Allocation& a) {
    return address < a.begin ? a.begin - address : address - a.end;
  };
  for (const auto& [outer, allocation] : allocations())
    if (nearest == nullptr || distance(allocation) < distance(*nearest)) nearest = &allocation;
  if (nearest == nullptr) return "";
  return std::to_string(distance(*nearest)) + " bytes " +
         (address < nearest->begin ? "before " : "past the end of ") + nearest->name;
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
