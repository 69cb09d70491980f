#pragma once
// Where something happened in a kernel's source.

namespace cpu_device {

// Functions of the device that kernels call take one as their last, defaulted argument:
// `Place place = here()` is the caller's file and line. Plain loads and stores are known by the
// address of their instruction instead (`pc`), which symbols.h turns into file and line.
struct Place {
  const char* file = nullptr;
  int line = 0;
  const void* pc = nullptr;
};
constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return {file, line, nullptr};
}

}  // namespace cpu_device
