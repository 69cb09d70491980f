#pragma once
// Texts and machine code that processes keep for each other, in files of a folder.
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace ladder::jit {

class Cache {
 public:
  // An empty path: nothing is kept.
  explicit Cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // What this user has stored under `key`; nothing where he has not, or where the file is not as it
  // was written. Machine code of somebody else would run in this user's name. Throws nothing.
  std::optional<std::string> find(const std::string& key) const;

  // Other processes see the whole of it or nothing. A folder that is not there yet becomes one for
  // this user alone. Where it cannot be written the first call of a process says so on stderr, and
  // nothing is kept.
  void store(const std::string& key, const std::string& value) const;

  // Where `key` is stored.
  std::filesystem::path file_of(const std::string& key) const;

 private:
  std::filesystem::path folder_;
};

// $LADDER_CACHE, else $XDG_CACHE_HOME/gemm_ladder, else $HOME/.cache/gemm_ladder, else none.
std::filesystem::path cache_folder();

}  // namespace ladder::jit
