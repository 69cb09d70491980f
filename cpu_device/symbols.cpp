#include "symbols.h"

#include <cxxabi.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>

namespace cpu_device {
namespace {

std::string executable() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

// How far the program was moved from the addresses in its file.
uintptr_t load_offset() {
  uintptr_t offset = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<uintptr_t*>(result) = info->dlpi_addr;
        return 1;  // the program itself comes first
      },
      &offset);
  return offset;
}

// For a shell, whatever the path has.
std::string quoted(const std::string& path) {
  std::string text = "'";
  for (const char c : path) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::vector<std::string> output_lines(const std::string& command) {
  std::vector<std::string> lines;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return lines;
  std::string text;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), n);
  pclose(pipe);
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct Symbol {
  uintptr_t address, bytes;
  std::string kind, name;  // as nm has them
};
std::vector<Symbol> symbols() {
  std::vector<Symbol> found;
  for (const std::string& line : output_lines("nm -S " + quoted(executable()) + " 2>/dev/null")) {
    std::istringstream words(line);
    Symbol symbol;
    if (words >> std::hex >> symbol.address >> symbol.bytes >> symbol.kind >> symbol.name)
      found.push_back(symbol);
  }
  return found;
}

// "" for a name that is not one of C++. A compiler may append to it, as in ".0".
std::string demangled(const std::string& symbol) {
  int status = 0;
  char* name =
      abi::__cxa_demangle(symbol.substr(0, symbol.find('.')).c_str(), nullptr, nullptr, &status);
  if (name == nullptr) return "";
  const std::string result = name;
  std::free(name);
  return result;
}

bool is_part_of_the_device(const std::string& file) {
  return file.find("/cpu_device/") != std::string::npos ||
         file.find("/kernels/ptx/") != std::string::npos ||
         file.find("/include/c++/") != std::string::npos || file.find("??") != std::string::npos;
}

// The copy of a struct that the compiler has written has the line where the struct begins, or is
// said to be `default`. It belongs to who asks for the copy.
bool is_copy(const std::string& line) {
  static const std::regex begins(
      R"(\b(struct|class|union)\b[^;={()]*(\([^()]*\)[^;={()]*)?(\{|$)|= *default;)");
  return std::regex_search(line, begins);
}

}  // namespace

uintptr_t address_in_file(uintptr_t instruction) {
  return instruction - load_offset();
}

ThreadLocalStorage thread_local_storage() {
  ThreadLocalStorage storage;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_TLS)
            *static_cast<ThreadLocalStorage*>(result) = {
                reinterpret_cast<uintptr_t>(info->dlpi_tls_data), info->dlpi_phdr[i].p_memsz};
        return 1;  // the program itself comes first
      },
      &storage);
  return storage;
}

std::vector<SourceLine> source_lines(const std::vector<const void*>& instructions) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static std::map<const void*, SourceLine> known;
  // -a repeats each address, so that the frames that follow can be told apart.
  std::ostringstream command;
  command << "addr2line -a -i -e " << quoted(executable());
  std::vector<const void*> asked;
  const uintptr_t offset = load_offset();
  for (const void* pc : instructions) {
    if (pc == nullptr || known.count(pc) != 0) continue;
    known[pc] = {};
    asked.push_back(pc);
    // A return address may already belong to the next line: the call is before it.
    command << " 0x" << std::hex << reinterpret_cast<uintptr_t>(pc) - offset - 1;
  }
  if (!asked.empty()) {
    size_t current = 0;
    SourceLine* target = nullptr;
    for (const std::string& text : output_lines(command.str() + " 2>/dev/null")) {
      if (text.rfind("0x", 0) == 0) {
        target = current < asked.size() ? &known[asked[current++]] : nullptr;
        continue;
      }
      const size_t colon = text.rfind(':');
      if (target == nullptr || colon == std::string::npos || is_part_of_the_device(text)) continue;
      if (!target->file.empty() && !is_copy(source_text(*target))) continue;
      *target = {std::filesystem::path(text.substr(0, colon)).lexically_normal().string(),
                 std::atoi(text.c_str() + colon + 1)};
    }
  }
  std::vector<SourceLine> lines;
  for (const void* pc : instructions) lines.push_back(pc == nullptr ? SourceLine{} : known[pc]);
  return lines;
}

SourceLine source_line(const Place& place) {
  return place.file != nullptr ? SourceLine{place.file, place.line}
                               : source_lines({place.pc}).front();
}

std::string source_text(const SourceLine& where) {
  std::ifstream file(where.file);
  std::string text;
  for (int i = 0; i < where.line; ++i)
    if (!std::getline(file, text)) return "";
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin);
}

const std::vector<SharedArray>& shared_arrays() {
  static const std::vector<SharedArray> arrays = [] {
    std::vector<SharedArray> found;
    // Thread-local data has the kinds of other data, but offsets from 0 on. What is not the
    // device's own is __shared__, or the guard of such an array.
    const uintptr_t end = thread_local_storage().bytes;
    for (const Symbol& symbol : symbols()) {
      if (symbol.kind.find_first_of("bBdDuVW") != 0 || symbol.address >= end) continue;
      std::string name = demangled(symbol.name);
      const size_t colons = name.rfind("::");
      if (colons == std::string::npos || name.rfind("cpu_device::", 0) == 0 ||
          name.rfind("guard variable", 0) == 0)
        continue;
      name = name.substr(colons + 2);
      // A weak function has its kind, too, and an address may be as small as an offset.
      if (name.find_first_of("()") == std::string::npos)
        found.push_back({symbol.address, symbol.bytes, name});
    }
    return found;
  }();
  return arrays;
}

bool is_in_shared_function(uintptr_t return_address) {
  static const std::map<uintptr_t, uintptr_t> ends = [] {  // by where a function begins
    static const std::regex of_library("_ZN?K?(S[tabsiod]|9__gnu_cxx|10cpu_device)");
    std::map<uintptr_t, uintptr_t> found;
    for (const Symbol& symbol : symbols())
      if (symbol.kind == "W" &&
          std::regex_search(symbol.name, of_library, std::regex_constants::match_continuous))
        found[load_offset() + symbol.address] = load_offset() + symbol.address + symbol.bytes;
    return found;
  }();
  const auto after = ends.lower_bound(return_address);
  return after != ends.begin() && return_address <= std::prev(after)->second;
}

}  // namespace cpu_device
