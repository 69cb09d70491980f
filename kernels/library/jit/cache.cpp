#include "cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>

#include "sha256.h"

namespace ladder::jit {
namespace {

// A file: one line with the sizes of key and value and the digest of both, then both. Keys are
// compared as well: a file that has got another one's name is not taken for that.
std::string contents(const std::string& key, const std::string& value) {
  return "gemm_ladder 2 " + std::to_string(key.size()) + " " + std::to_string(value.size()) + " " +
         sha256(key + value) + "\n" + key + value;
}

// The text of a file that this user alone has written; of anything else nothing. No link is
// followed, and nobody is waited for at a FIFO: that and devices have no size, and so no text.
std::string own_text(const std::filesystem::path& path) {
  constexpr off_t MOST_BYTES = 1 << 28;  // no kernel has as many
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  struct stat info;
  if (fstat(file, &info) == 0 && info.st_uid == geteuid() &&
      (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 && info.st_size <= MOST_BYTES) {
    text.resize(static_cast<size_t>(info.st_size));
    size_t begin = 0;
    for (ssize_t count = 0; (count = read(file, &text[begin], text.size() - begin)) > 0;)
      begin += static_cast<size_t>(count);
    text.resize(begin);
  }
  close(file);
  return text;
}

void say_once(const std::string& problem) {
  static std::once_flag once;
  std::call_once(
      once, [&] { std::fprintf(stderr, "gemm_ladder: nothing is cached: %s\n", problem.c_str()); });
}

}  // namespace

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
  return folder_ / sha256(key);
}

std::optional<std::string> Cache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const std::string all = own_text(file_of(key));
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
  if (std::filesystem::create_directories(folder_, error))
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, error);
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
