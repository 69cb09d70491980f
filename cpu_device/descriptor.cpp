#include "descriptor.h"

#include <algorithm>
#include <cstring>

#include "swizzle.h"

namespace cpu_device {
namespace {

constexpr unsigned CHUNK = 16;       // bytes
constexpr unsigned CORE = 8;         // chunks of a core matrix
constexpr unsigned K_ELEMENTS = 16;  // of 2 bytes: two core matrices

}  // namespace

Descriptor decode(uint64_t descriptor) {
  const auto bytes = [&](unsigned first_bit) {
    return static_cast<uint32_t>(descriptor >> first_bit & 0x3FFF) * CHUNK;
  };
  constexpr unsigned SWIZZLE_BYTES[] = {0, 128, 64, 32};
  return {bytes(0), bytes(16), bytes(32), SWIZZLE_BYTES[descriptor >> 62],
          static_cast<unsigned>(descriptor >> 49 & 7)};
}

std::string descriptor_problem(uint64_t descriptor, bool transposed, unsigned element_bytes) {
  constexpr uint64_t UNUSED = 0x3FF1'C000'C000'C000;  // 14, 15, 30, 31, 46 to 48, 52 to 61
  if ((descriptor & UNUSED) != 0) return "a descriptor with bits set that belong to no field";
  if (transposed && element_bytes != 2)
    return "a transposed operand whose elements are not of 2 bytes";
  const Descriptor d = decode(descriptor);
  if (d.swizzle_bytes == 0) return "";
  if (d.base_offset != 0)
    return "a descriptor with a base offset, which the CPU device does not know";
  const std::string span = std::to_string(d.swizzle_bytes);
  if (d.address % (d.swizzle_bytes * CORE) >= d.swizzle_bytes)
    return "a descriptor whose address is not in the first row of the " + span +
           "-byte swizzle's pattern";
  if (!transposed && d.address % d.swizzle_bytes > d.swizzle_bytes - 2 * CHUNK)
    return "a descriptor whose 32 bytes of k do not end with the " + span + "-byte swizzle's row";
  return "";
}

void chunks(const Descriptor& d, bool transposed, unsigned rows, std::vector<uint32_t>& addresses) {
  addresses.clear();
  const unsigned span = d.swizzle_bytes;
  const unsigned pitch = std::max(span, CHUNK);  // of the chunks of a core matrix
  for (unsigned group = 0; group < rows / CORE; ++group)
    for (unsigned half = 0; half < 2; ++half) {
      uint32_t core = d.address;
      if (span == 0)
        core += group * d.stride + half * d.leading;
      else if (transposed)  // as many groups as a row of the pattern holds, then the leading
                            // distance
        core += group * CHUNK % span + group * CHUNK / span * d.leading + half * d.stride;
      else
        core += group * d.stride + half * CHUNK;
      for (unsigned j = 0; j < CORE; ++j)
        addresses.push_back(swizzled_address(core + j * pitch, span));
    }
}

void gather(const unsigned char* shared, const std::vector<uint32_t>& addresses, bool transposed,
            uint16_t* out) {
  for (unsigned i = 0; i < addresses.size(); ++i) {
    const unsigned row = i / (2 * CORE) * CORE, k = i / CORE % 2 * CORE, j = i % CORE;
    uint16_t chunk[CHUNK / 2];
    std::memcpy(chunk, shared + addresses[i], CHUNK);
    if (transposed)
      for (unsigned r = 0; r < CORE; ++r) out[(row + r) * K_ELEMENTS + k + j] = chunk[r];
    else
      std::memcpy(&out[(row + j) * K_ELEMENTS + k], chunk, CHUNK);
  }
}

unsigned wavefronts(const std::vector<uint32_t>& addresses) {
  unsigned count = 0;
  for (size_t first = 0; first < addresses.size(); first += CORE) {
    unsigned in_banks[CORE] = {};
    for (size_t i = first; i < first + CORE; ++i) ++in_banks[addresses[i] / CHUNK % CORE];
    count += *std::max_element(in_banks, in_banks + CORE);
  }
  return count;
}

}  // namespace cpu_device
