#include "output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "options.h"

namespace ladder::harness {
namespace {

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_regular_or_new(const std::string& path) {
  const auto status = status_of(path);
  return !status || S_ISREG(status->st_mode);
}

// The standard stream that `path` is, as /dev/stdout is; -1 for another file. To open it once more
// is not always allowed, and its file would have two ends.
int standard_stream(const std::string& path) {
  const auto status = status_of(path);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat other;
    if (status && fstat(stream, &other) == 0 && status->st_dev == other.st_dev &&
        status->st_ino == other.st_ino)
      return stream;
  }
  return -1;
}

// Where the file is, or will be: the end of a chain of links, the last of which may lead to no file
// yet.
std::filesystem::path place_of(std::filesystem::path path) {
  for (int links = 0; std::filesystem::is_symlink(path); ++links) {
    if (links == 40) throw std::runtime_error(path.string() + ": too many links");
    const std::filesystem::path target = std::filesystem::read_symlink(path);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
}

// A file of a name that nobody knows before, beside `place`; closed and removed unless it is kept.
class FileBeside {
 public:
  // Throws std::runtime_error.
  explicit FileBeside(const std::filesystem::path& place) : name_(place.string() + ".XXXXXX") {
    descriptor_ = mkstemp(name_.data());
    if (descriptor_ < 0) throw std::runtime_error(std::strerror(errno));
  }
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;
  ~FileBeside() {
    close(descriptor_);
    if (!name_.empty()) unlink(name_.c_str());
  }
  int descriptor() const { return descriptor_; }
  // Whether it could be put there.
  bool keep_as(const std::filesystem::path& place) {
    if (std::rename(name_.c_str(), place.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  std::string name_;
  int descriptor_;
};

// What a new file may be used for, or what the one that is replaced was.
mode_t mode_of(const std::filesystem::path& place) {
  if (const auto status = status_of(place.string())) return status->st_mode & 07777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

bool write_all(int descriptor, const std::string& text) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t n = write(descriptor, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    written += static_cast<size_t>(n);
  }
  return true;
}

bool write_through(const std::string& path, const std::string& text) {
  std::fflush(stdout);  // what was printed before comes first
  const int stream = standard_stream(path);
  if (stream >= 0) return write_all(stream, text);
  const int descriptor = open(path.c_str(), O_WRONLY | O_NOCTTY);
  if (descriptor < 0) return false;
  const bool written = write_all(descriptor, text);
  return close(descriptor) == 0 && written;
}

bool write_beside(const std::filesystem::path& place, const std::string& text) {
  FileBeside file(place);
  return write_all(file.descriptor(), text) && fchmod(file.descriptor(), mode_of(place)) == 0 &&
         file.keep_as(place);
}

}  // namespace

void require_writable(const std::string& option, const std::string& path) {
  const auto status = status_of(path);
  if (status && S_ISDIR(status->st_mode))
    throw UsageError(fmt::format("{}: {} is a directory; a file name is needed", option, path));
  if (standard_stream(path) >= 0) return;
  const auto refuse = [&](const char* why) {
    throw UsageError(fmt::format("{}: cannot write {}: {}", option, path, why));
  };
  if (status && access(path.c_str(), W_OK) != 0) refuse(std::strerror(errno));
  if (!is_regular_or_new(path)) return;
  try {
    FileBeside(place_of(path));
  } catch (const std::runtime_error& error) {
    refuse(error.what());
  }
}

bool is_same_file(const std::string& path, const std::string& other) {
  return is_regular_or_new(path) && place_of(path) == place_of(other);
}

void write_whole(const std::string& path, const std::string& text) {
  const bool beside = is_regular_or_new(path) && standard_stream(path) < 0;
  if (!(beside ? write_beside(place_of(path), text) : write_through(path, text)))
    throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void require_printed() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("standard output could not be written; results are missing there");
}

}  // namespace ladder::harness
