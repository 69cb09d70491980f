#pragma once
// wgmma's descriptors: where in shared memory the chunks of an operand lie. PTX ISA, "Asynchronous
// Warpgroup Level Matrix Shared Memory Layout"; the layouts by the comments of CUTLASS's
// cute/atom/mma_traits_sm90_gmma.hpp.
#include <cstdint>
#include <string>
#include <vector>

namespace cpu_device {

struct Descriptor {
  uint32_t address, leading, stride;  // bytes
  unsigned swizzle_bytes;             // its span: 0, 32, 64 or 128
  unsigned base_offset;
};
Descriptor decode(uint64_t descriptor);

// The rule that a descriptor breaks, or "". `transposed`: rows run along m or n, not along k.
std::string descriptor_problem(uint64_t descriptor, bool transposed, unsigned element_bytes);

// Shared addresses of the 16-byte chunks of an operand of `rows` (wgmma's m or n, a multiple of 8)
// by 32 bytes of k, which is what every wgmma takes. Eight chunks are a core matrix, and two core
// matrices side by side are eight rows. In the core matrix `half` of the rows from r on, chunk j is
// 16 bytes of row r + j, or, `transposed`, rows r to r + 7 at k = 8 * half + j.
void chunks(const Descriptor& descriptor, bool transposed, unsigned rows,
            std::vector<uint32_t>& addresses);

// Puts an operand of 2-byte elements in order, out[rows][16], whose chunks' bytes begin at
// `shared + address`.
void gather(const unsigned char* shared, const std::vector<uint32_t>& addresses, bool transposed,
            uint16_t* out);

// How many times the banks are read for the chunks, eight at a time: 128 bytes if no two of the
// eight are in the same four banks.
unsigned wavefronts(const std::vector<uint32_t>& addresses);

}  // namespace cpu_device
