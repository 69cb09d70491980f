// What cpu_device/symbols.cpp asks binutils for. In a page the `pc` of an access is the number that
// instrument.mjs has given to its call; engine.mjs knows the lines of the numbers.
#include "cpu_device/symbols.h"

#include <algorithm>

extern "C" {
// Writes the file's name, and a 0, and returns the line; 0 where nothing is known.
[[clang::import_module("lab"), clang::import_name("source_line")]] int lab_source_line(
    const void* pc, char* file, size_t bytes);
// Writes the text of a line without indentation, and a 0.
[[clang::import_module("lab"), clang::import_name("source_text")]] void lab_source_text(
    const char* file, int line, char* text, size_t bytes);

// The __shared__ arrays of what was compiled in the page, by instrument.mjs.
struct LabArray {
  const void* begin;
  uint32_t bytes;
  const char* name;
};
extern const LabArray lab_shared_arrays[];
extern const uint32_t lab_shared_array_count;
}

namespace cpu_device {
namespace {
constexpr size_t LONGEST = 4096;  // of names and lines

uintptr_t begin_of(const LabArray& array) {
  return reinterpret_cast<uintptr_t>(array.begin);
}
}  // namespace

ThreadLocalStorage thread_local_storage() {
  const LabArray *first = lab_shared_arrays, *last = first + lab_shared_array_count;
  if (first == last) return {};
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (const LabArray* array = first; array != last; ++array) {
    begin = std::min(begin, begin_of(*array));
    end = std::max(end, begin_of(*array) + array->bytes);
  }
  return {begin, end - begin};
}

const std::vector<SharedArray>& shared_arrays() {
  static const std::vector<SharedArray> arrays = [] {
    std::vector<SharedArray> all;
    const uintptr_t begin = thread_local_storage().begin;
    for (uint32_t i = 0; i < lab_shared_array_count; ++i) {
      const LabArray& array = lab_shared_arrays[i];
      all.push_back({begin_of(array) - begin, array.bytes, array.name});
    }
    return all;
  }();
  return arrays;
}

// For digests, which nobody makes in a page.
bool is_in_shared_function(uintptr_t) {
  return false;
}
uintptr_t address_in_file(uintptr_t instruction) {
  return instruction;
}

std::vector<SourceLine> source_lines(const std::vector<const void*>& instructions) {
  std::vector<SourceLine> lines;
  for (const void* pc : instructions) {
    char file[LONGEST] = "";
    const int line = pc == nullptr ? 0 : lab_source_line(pc, file, sizeof file);
    lines.push_back({file, line});
  }
  return lines;
}

SourceLine source_line(const Place& place) {
  return place.file != nullptr ? SourceLine{place.file, place.line}
                               : source_lines({place.pc}).front();
}

std::string source_text(const SourceLine& where) {
  char text[LONGEST] = "";
  lab_source_text(where.file.c_str(), where.line, text, sizeof text);
  return text;
}

}  // namespace cpu_device
