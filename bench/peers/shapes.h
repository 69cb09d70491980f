#pragma once
// Shapes as the command lines of peers and tune have them, and as both print them.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "harness/options.h"
#include "harness/problem.h"

namespace ladder::peers {

// "4096", or "16x4096x4096". Throws UsageError.
inline harness::Shape parse_shape(const std::string& text) {
  harness::Shape s{};
  char rest = 0;
  const bool cube = text.find('x') == std::string::npos;
  const int read = std::sscanf(text.c_str(), "%dx%dx%d%c", &s.m, &s.n, &s.k, &rest);
  if (cube) s.n = s.k = s.m;
  constexpr int MOST = 1 << 17;
  for (const int size : {s.m, s.n, s.k})
    if (read != (cube ? 1 : 3) || size < 1 || size > MOST)
      throw harness::UsageError(
          fmt::format("no shape: '{}'; write 4096 or 16x4096x4096, up to {}", text, MOST));
  return s;
}
inline std::string name(harness::Shape s) {
  return fmt::format("{}x{}x{}", s.m, s.n, s.k);
}

}  // namespace ladder::peers
