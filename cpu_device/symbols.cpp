#include "symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
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
  unsigned char type, binding;  // STT_ and STB_ of elf.h
  std::string name;
};

// Those that the program's file defines; none if it is stripped. A program's memory has no such
// table.
std::vector<Symbol> symbols() {
  std::ifstream file(executable(), std::ios::binary);
  const auto read = [&file](uint64_t offset, void* to, uint64_t bytes) {
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  };
  ElfW(Ehdr) header{};
  read(0, &header, sizeof(header));
  std::vector<ElfW(Shdr)> sections(header.e_shnum);
  read(header.e_shoff, sections.data(), sections.size() * sizeof(sections[0]));
  std::vector<Symbol> found;
  for (const auto& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto& names = sections.at(section.sh_link);
    std::vector<ElfW(Sym)> table(section.sh_size / sizeof(ElfW(Sym)));
    std::string text(names.sh_size, '\0');
    read(section.sh_offset, table.data(), section.sh_size);
    read(names.sh_offset, text.data(), names.sh_size);
    for (const auto& symbol : table)
      if (symbol.st_shndx != SHN_UNDEF)
        found.push_back({symbol.st_value, symbol.st_size, ELF64_ST_TYPE(symbol.st_info),
                         ELF64_ST_BIND(symbol.st_info), &text[symbol.st_name]});
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

// Whether a function is one of the standard library's or of the device's, by its name in the file.
bool is_of_library(const std::string& name) {
  size_t at = std::strlen("_Z");
  if (name.compare(0, at, "_Z") != 0) return false;
  if (name[at] == 'N') ++at;  // a nested name
  if (name[at] == 'K') ++at;  // of a const function
  for (const char* its : {"St", "Sa", "Sb", "Ss", "Si", "So", "Sd", "9__gnu_cxx", "10cpu_device"})
    if (name.compare(at, std::strlen(its), its) == 0) return true;
  return false;
}

bool is_part_of_the_device(const std::string& file) {
  return file.find("/cpu_device/") != std::string::npos ||
         file.find("/kernels/ptx/") != std::string::npos ||
         file.find("/include/c++/") != std::string::npos || file.find("??") != std::string::npos;
}

// The copy of a struct that the compiler has written has the line where the struct begins, or is
// said to be `default`. It belongs to who asks for the copy.
bool is_copy(const std::string& line) {
  static const regex_t begins = [] {  // <regex> takes longer to compile than all else here
    regex_t pattern;
    regcomp(&pattern,
            R"(\b(struct|class|union)\b[^;={()]*(\([^()]*\)[^;={()]*)?(\{|$)|= *default;)",
            REG_EXTENDED | REG_NOSUB);
    return pattern;
  }();
  return regexec(&begins, line.c_str(), 0, nullptr, 0) == 0;
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
    // What is thread-local and not the device's own is __shared__, or the guard of such an array.
    for (const Symbol& symbol : symbols()) {
      if (symbol.type != STT_TLS) continue;
      const std::string name = demangled(symbol.name);
      const size_t colons = name.rfind("::");
      if (colons != std::string::npos && name.rfind("cpu_device::", 0) != 0 &&
          name.rfind("guard variable", 0) != 0)
        found.push_back({symbol.address, symbol.bytes, name.substr(colons + 2)});
    }
    return found;
  }();
  return arrays;
}

bool is_in_shared_function(uintptr_t return_address) {
  static const std::map<uintptr_t, uintptr_t> ends = [] {  // by where a function begins
    std::map<uintptr_t, uintptr_t> found;
    for (const Symbol& symbol : symbols())
      if (symbol.type == STT_FUNC && symbol.binding == STB_WEAK && is_of_library(symbol.name))
        found[load_offset() + symbol.address] = load_offset() + symbol.address + symbol.bytes;
    return found;
  }();
  const auto after = ends.lower_bound(return_address);
  return after != ends.begin() && return_address <= std::prev(after)->second;
}

}  // namespace cpu_device
