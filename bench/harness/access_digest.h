#pragma once
// What kernels did on the CPU device, as a report has it.
#include <nlohmann/json_fwd.hpp>

#include "cpu_device/digest.h"
#include "report.h"

namespace ladder::harness {

// Of all since the last call, with cpu_device::settings().digest.
inline AccessDigest access_digest() {
  const cpu_device::AccessDigest taken = cpu_device::take_digest();
  AccessDigest digest{taken.digest, taken.accesses, taken.events, {}, taken.blocks};
  for (const cpu_device::LineDigest& line : taken.lines)
    digest.lines.push_back({line.file, line.line, line.text, line.digest});
  return digest;
}

nlohmann::ordered_json to_json(const AccessDigest& digest);

}  // namespace ladder::harness
