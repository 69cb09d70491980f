#include "cache.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>

namespace ladder::jit {
namespace {

// A file: one line with the sizes of key and value and the hash of both, then both. Keys are
// compared as well: two that have the same hash are not taken for each other.
std::string contents(const std::string& key, const std::string& value) {
  char line[80];
  std::snprintf(line, sizeof line, "gemm_ladder 1 %zu %zu %016llx\n", key.size(), value.size(),
                static_cast<unsigned long long>(hash_of(key + value)));
  return line + key + value;
}

void say_once(const std::string& problem) {
  static std::once_flag once;
  std::call_once(
      once, [&] { std::fprintf(stderr, "gemm_ladder: nothing is cached: %s\n", problem.c_str()); });
}

}  // namespace

uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::filesystem::path cache_folder() {
  const auto folder = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  if (const auto path = folder("LADDER_CACHE"); !path.empty()) return path;
  if (const auto path = folder("XDG_CACHE_HOME"); !path.empty()) return path / "gemm_ladder";
  if (const auto path = folder("HOME"); !path.empty()) return path / ".cache" / "gemm_ladder";
  return {};
}

std::filesystem::path Cache::file_of(const std::string& key) const {
  char name[17];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash_of(key)));
  return folder_ / name;
}

std::optional<std::string> Cache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_of(key), std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  const size_t begin = all.find('\n') + 1 + key.size();
  if (begin > all.size()) return std::nullopt;
  std::string value = all.substr(begin);
  if (all != contents(key, value)) return std::nullopt;
  return value;
}

void Cache::store(const std::string& key, const std::string& value) const {
  if (folder_.empty())
    return say_once("neither LADDER_CACHE nor XDG_CACHE_HOME nor HOME names a folder");
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  std::string name = (folder_ / "new_XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) return say_once("cannot write in " + folder_.string());
  const std::string all = contents(key, value);
  FILE* const stream = fdopen(file, "wb");
  const bool is_written = std::fwrite(all.data(), 1, all.size(), stream) == all.size();
  if (std::fclose(stream) == 0 && is_written)
    std::filesystem::rename(name, file_of(key), error);
  else
    error = std::make_error_code(std::errc::io_error);
  if (!error) return;
  std::error_code ignored;
  std::filesystem::remove(name, ignored);
  say_once("cannot write in " + folder_.string() + ": " + error.message());
}

}  // namespace ladder::jit
