#pragma once
// WebAssembly's memory has no pages to map or to protect: what cpu_device maps is allocated.
#include <cstddef>
#include <cstdlib>
#include <cstring>

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2 };
enum { MAP_PRIVATE = 1, MAP_ANONYMOUS = 2, MAP_NORESERVE = 4, MAP_FIXED = 8 };
#define MAP_FAILED nullptr

// Zeros, at a multiple of 4096. In place, with MAP_FIXED, nothing changes.
inline void* mmap(void* at, size_t bytes, int, int flags, int, long) {
  if (flags & MAP_FIXED) return at;
  void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}
inline int munmap(void* memory, size_t) {
  std::free(memory);
  return 0;
}
inline int mprotect(void*, size_t, int) {
  return 0;
}
