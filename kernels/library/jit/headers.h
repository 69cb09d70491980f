#pragma once
// The kernels' headers, as CMake puts them into the library.
#include <cstddef>

namespace ladder::jit {

struct Header {
  const char* name;  // as others include it
  const char* text;
};
extern const Header HEADERS[];
extern const size_t HEADER_COUNT;
extern const char* const HEADERS_HASH;  // of all names and texts

}  // namespace ladder::jit
