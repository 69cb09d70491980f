#pragma once
// Texts and machine code that processes keep for each other, in files of a folder.
#include <filesystem>
#include <optional>
#include <string>

namespace ladder::jit {

class Cache {
 public:
  // An empty path: nothing is kept.
  explicit Cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // What was stored under `key`; nothing where nothing was, or where the file is not as it was
  // written. Throws nothing.
  std::optional<std::string> find(const std::string& key) const;

  // Other processes see the whole of it or nothing. Where the folder cannot be written the first
  // call of a process says so on stderr, and nothing is kept.
  void store(const std::string& key, const std::string& value) const;

  // Where `key` is stored.
  std::filesystem::path file_of(const std::string& key) const;

 private:
  std::filesystem::path folder_;
};

// $LADDER_CACHE, else $XDG_CACHE_HOME/gemm_ladder, else $HOME/.cache/gemm_ladder, else none.
std::filesystem::path cache_folder();

// FNV-1a, 64 bits.
uint64_t hash_of(const std::string& text);

}  // namespace ladder::jit
