#pragma once
// What a program leaves behind: files, and its standard output.
#include <string>

namespace ladder::harness {

// Throws UsageError when `path`, which was given with `option`, cannot be written; leaves nothing
// behind.
void require_writable(const std::string& option, const std::string& path);

// Whether both are the same regular file, or would be.
bool is_same_file(const std::string& path, const std::string& other);

// A regular file, to which links are followed, is written beside its place and renamed, so that it
// is whole or as it was. Anything else, as a device or a pipe, is written to, and what is standard
// output or standard error goes there. Throws std::runtime_error.
void write_whole(const std::string& path, const std::string& text);

// A program's first call. A file that is opened later must not get the number of a standard stream
// that is closed: what is printed would go into that file. Printing fails instead.
void occupy_standard_streams();

// A program's last call. Throws std::runtime_error when not all that was printed has been written.
void require_printed();

}  // namespace ladder::harness
