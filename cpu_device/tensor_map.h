#pragma once
// Tensor maps and boxes: what one TMA copy touches, in global and in shared memory. Driver API,
// "Tensor Map Object Management"; CUDA programming guide, "Tensor Memory Access".
#include <algorithm>
#include <cstdint>
#include <string>

#include "swizzle.h"

namespace cpu_device {

// What cuTensorMapEncodeTiled (include/cuda.h) writes. Dimension 0 is the one along which elements
// are neighbours: a row.
struct TensorMap {
  uint64_t mark;  // that this is a map
  uintptr_t base;
  uint64_t sizes[5];    // elements
  uint64_t strides[5];  // bytes from one element to the next; of dimension 0 an element's size
  uint16_t box[5];      // elements that a copy brings
  uint8_t steps[5];     // every how manieth element that is; 1 in dimension 0
  uint8_t rank, element_bytes;
  uint8_t swizzle_bytes;  // the swizzle's span: 0, 32, 64 or 128
  bool to_tf32;           // floats that a load rounds
  uint8_t fill;  // each byte of what is read outside: 0, or 0xFF, which is a NaN of any type (not
                 // the one that the hardware takes)
};

// The map at an address, or null: never encoded, or not at a multiple of 64.
const TensorMap* decoded(const void* map);

// Why this OS thread's last cuTensorMapEncodeTiled refused; empty if it did not.
std::string tensor_map_refusal();

// A function of the driver by its name, or null.
void* driver_function(const std::string& name);

// What the mbarrier counts: all of the box, whether in the matrix or not.
unsigned box_bytes(const TensorMap& map);

// The rule that a copy of the box from `column` on, to or from a shared address, breaks, or "".
// The column's rule is measured, not in the manuals: an H200 takes no box of floats that begins at
// column 1, 2, 3, 6 or -1 ("an illegal instruction was encountered"), swizzled or not, but takes
// those at 0 and 4.
std::string copy_problem(const TensorMap& map, int column, uint32_t shared);

// 32-byte sectors of global memory in which the box at `at` has elements of the matrix, row by row.
unsigned sectors(const TensorMap& map, const int* at);

// 32-byte sectors that come to the multiprocessor for the box, from L2 or as its fill: in a row,
// the sectors of what is inside, in whole pieces of 16 bytes, and then those of the rest. (Found by
// ncu's counts of ten ragged shapes, H200.)
unsigned sectors_delivered(const TensorMap& map, const int* at);

// 16 bytes of a box, a multiple of which a box's rows are. Those from `global + before` on,
// `inside` many, are in the matrix; when loaded, the others are the fill.
constexpr unsigned PIECE_BYTES = 16;
struct Piece {
  uintptr_t global;
  uint32_t shared;  // address in the block's shared memory, swizzled
  unsigned before, inside;
  unsigned stored;  // bytes that a store writes from `global + before` on: it goes past the end of
                    // a row, up to the next multiple of 16 bytes (measured on an H200 where the
                    // box's column is one)
};

// Visits the pieces of the box whose first element is `at` (may lie outside), row after row.
// `shared` is the box's address in shared memory. With a swizzle, rows lie the swizzle's span
// apart.
template <class Visit>
void for_each_piece(const TensorMap& map, const int* at, uint32_t shared, const Visit& visit) {
  const int64_t row_bytes = static_cast<int64_t>(map.sizes[0] * map.element_bytes);
  const int64_t stored_bytes = (row_bytes + 15) / 16 * 16;
  const int64_t first = int64_t{at[0]} * map.element_bytes;
  const unsigned box_row_bytes = unsigned{map.box[0]} * map.element_bytes;
  const uint32_t shared_row_bytes = std::max(box_row_bytes, unsigned{map.swizzle_bytes});
  unsigned rows = 1;
  for (unsigned d = 1; d < map.rank; ++d) rows *= map.box[d];
  for (unsigned row = 0; row < rows; ++row, shared += shared_row_bytes) {
    uintptr_t begin = map.base;
    bool exists = true;
    for (unsigned d = 1, rest = row; d < map.rank; rest /= map.box[d], ++d) {
      const int64_t i = at[d] + int64_t{rest % map.box[d] * map.steps[d]};
      exists = exists && static_cast<uint64_t>(i) < map.sizes[d];  // nor negative
      begin += static_cast<uint64_t>(i) * map.strides[d];
    }
    for (unsigned byte = 0; byte < box_row_bytes; byte += PIECE_BYTES) {
      // In bytes of the row: the piece, and how much of it is before a limit.
      const int64_t piece = first + byte;
      const auto up_to = [&](int64_t limit) {
        return static_cast<unsigned>(
            std::min(std::max(limit - piece, int64_t{0}), int64_t{PIECE_BYTES}));
      };
      const unsigned before = up_to(0);
      visit(Piece{begin + static_cast<uintptr_t>(piece),
                  swizzled_address(shared + byte, map.swizzle_bytes), before,
                  exists ? up_to(row_bytes) - before : 0,
                  exists ? up_to(stored_bytes) - before : 0});
    }
  }
}

}  // namespace cpu_device
