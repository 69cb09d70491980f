#pragma once
// Names for addresses of this program: by binutils' addr2line, and its file's table of symbols.
#include <cstdint>
#include <string>
#include <vector>

#include "place.h"

namespace cpu_device {

struct SourceLine {
  std::string file;
  int line = 0;
};
// The line of the kernel that contains each instruction: of a chain of inlined functions the
// innermost that is neither part of the CPU device nor of kernels/ptx. Empty where nothing is
// known.
std::vector<SourceLine> source_lines(const std::vector<const void*>& instructions);

// The line of one place, however it is known.
SourceLine source_line(const Place& place);

// The text of a line, without indentation; "" when the file cannot be read.
std::string source_text(const SourceLine& line);

// Where the program's file has an instruction.
uintptr_t address_in_file(uintptr_t instruction);

// The calling thread's copy of the program's own thread-local storage: where __shared__ arrays are.
struct ThreadLocalStorage {
  uintptr_t begin = 0, bytes = 0;
};
ThreadLocalStorage thread_local_storage();

// A __shared__ array: where it begins in the thread-local storage of the program.
struct SharedArray {
  uintptr_t offset, bytes;
  std::string name;
};
const std::vector<SharedArray>& shared_arrays();

// Whether a call was made in an inline function of the standard library or of the device. Of such a
// function a program has one copy, which kernels and the device share.
bool is_in_shared_function(uintptr_t return_address);

}  // namespace cpu_device
