#include "tensor_map.h"

#include <cuda.h>

#include "cost.h"

namespace cpu_device {
namespace {

constexpr uint64_t MARK = 0x7465'6E73'6F72'6D61;  // hardly by chance
thread_local std::string refusal;

struct Type {
  uint8_t bytes;
  bool is_float;
};
Type type_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return {1, false};
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
      return {2, false};
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
      return {4, false};
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
      return {8, false};
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return {2, true};
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return {4, true};
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return {8, true};
  }
  return {0, false};
}

}  // namespace

const TensorMap* decoded(const void* map) {
  if (reinterpret_cast<uintptr_t>(map) % alignof(CUtensorMap) != 0) return nullptr;
  const TensorMap& decoded = static_cast<const CUtensorMap*>(map)->map;
  return decoded.mark == MARK ? &decoded : nullptr;
}

std::string tensor_map_refusal() {
  return refusal;
}

void* driver_function(const std::string& name) {
  return name == "cuTensorMapEncodeTiled" ? reinterpret_cast<void*>(cuTensorMapEncodeTiled)
                                          : nullptr;
}

unsigned box_bytes(const TensorMap& map) {
  unsigned bytes = map.element_bytes;
  for (unsigned d = 0; d < map.rank; ++d) bytes *= map.box[d];
  return bytes;
}

std::string copy_problem(const TensorMap& map, int column, uint32_t shared) {
  if (shared % 128 != 0) return "a box whose address in shared memory is no multiple of 128";
  if (int64_t{column} * map.element_bytes % PIECE_BYTES != 0)
    return "a box whose first column is not at a multiple of 16 bytes";
  return "";
}

unsigned sectors(const TensorMap& map, const int* at) {
  const unsigned row_bytes = unsigned{map.box[0]} * map.element_bytes;
  unsigned count = 0, left = row_bytes;
  uintptr_t last = ~uintptr_t{0};
  for_each_piece(map, at, 0, [&](const Piece& piece) {
    if (piece.inside > 0) {
      const uintptr_t begin = piece.global + piece.before;
      for (const uintptr_t byte : {begin, begin + piece.inside - 1}) {
        count += byte / SECTOR_BYTES != last;
        last = byte / SECTOR_BYTES;
      }
    }
    left -= PIECE_BYTES;
    if (left > 0) return;
    left = row_bytes;
    last = ~uintptr_t{0};
  });
  return count;
}

unsigned sectors_delivered(const TensorMap& map, const int* at) {
  const unsigned row_bytes = unsigned{map.box[0]} * map.element_bytes;
  unsigned count = 0, inside = 0, left = row_bytes;  // of the row so far, and to come
  uintptr_t last = ~uintptr_t{0};
  for_each_piece(map, at, 0, [&](const Piece& piece) {
    if (piece.inside > 0) {
      inside += PIECE_BYTES;
      for (const uintptr_t byte : {piece.global, piece.global + PIECE_BYTES - 1}) {
        count += byte / SECTOR_BYTES != last;
        last = byte / SECTOR_BYTES;
      }
    }
    left -= PIECE_BYTES;
    if (left > 0) return;
    count += (row_bytes - inside + SECTOR_BYTES - 1) / SECTOR_BYTES;
    inside = 0;
    left = row_bytes;
    last = ~uintptr_t{0};
  });
  return count;
}

}  // namespace cpu_device

// The rules are those of the driver API's page of this function.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* base, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  using cpu_device::refusal;
  refusal.clear();
  const auto refuse = [](const std::string& what, uint64_t is, const std::string& rule) {
    refusal = what + " is " + std::to_string(is) + ", but has to be " + rule;
    return CUDA_ERROR_INVALID_VALUE;
  };
  const auto of = [](const char* what, unsigned d) {
    return std::string(what) + " of dimension " + std::to_string(d);
  };
  // That the map is at a multiple of 64 is looked at where it is used: g++ 12 does not align what
  // tensor_map() returns until it is a kernel's parameter.
  const cpu_device::Type element = cpu_device::type_of(type);
  if (element.bytes == 0) return refuse("the type", type, "one that this driver knows");
  if (rank < 1 || rank > 5) return refuse("the rank", rank, "1 to 5");
  cpu_device::TensorMap encoded{};
  encoded.mark = cpu_device::MARK;
  encoded.base = reinterpret_cast<uintptr_t>(base);
  encoded.rank = static_cast<uint8_t>(rank);
  encoded.element_bytes = element.bytes;
  encoded.to_tf32 =
      type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  if (encoded.base % 16 != 0)
    return refuse("the matrix's address", encoded.base, "a multiple of 16");
  for (unsigned d = 0; d < rank; ++d) {
    if (sizes[d] < 1 || sizes[d] > uint64_t{1} << 32)
      return refuse(of("the size", d), sizes[d], "1 to 2^32 elements");
    const uint64_t stride = d == 0 ? element.bytes : strides[d - 1];
    if (d > 0 && (stride % 16 != 0 || stride >= uint64_t{1} << 40))
      return refuse(of("the stride", d), stride, "a multiple of 16 bytes, less than 2^40");
    if (box[d] < 1 || box[d] > 256) return refuse(of("the box", d), box[d], "1 to 256 elements");
    if (steps[d] < 1 || steps[d] > 8) return refuse(of("the step", d), steps[d], "1 to 8 elements");
    encoded.sizes[d] = sizes[d];
    encoded.strides[d] = stride;
    encoded.steps[d] = static_cast<uint8_t>(d == 0 ? 1 : steps[d]);  // TMA ignores it along a row
    encoded.box[d] = static_cast<uint16_t>((box[d] + encoded.steps[d] - 1) / encoded.steps[d]);
  }
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
    return refuse("the interleave", interleave, "none: the CPU device knows no other");
  const unsigned row = box[0] * element.bytes;
  if (row % 16 != 0) return refuse("a row of the box", row, "a multiple of 16 bytes");
  if (swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    return refuse("the swizzle", swizzle, "none or of 32, 64 or 128 bytes");
  if (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE) {
    encoded.swizzle_bytes = static_cast<uint8_t>(16 << swizzle);
    if (row > encoded.swizzle_bytes)
      return refuse("a row of the box", row,
                    "at most the swizzle's " + std::to_string(encoded.swizzle_bytes) + " bytes");
  }
  if (promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return refuse("the L2 promotion", promotion, "none or of 64, 128 or 256 bytes");
  if (fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return refuse("the fill", fill, "zeros or NaN");
  if (fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) {
    if (!element.is_float) return refuse("the fill", fill, "zeros: this type has no NaN");
    encoded.fill = 0xFF;
  }
  map->map = encoded;
  return CUDA_SUCCESS;
}
