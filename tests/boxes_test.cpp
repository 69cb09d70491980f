// What a TMA copy touches and what wgmma's descriptors find: each against a matrix whose elements
// are numbered, or against addresses written out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "cpu_device/descriptor.h"
#include "cuda_runtime.h"
#include "driver_entry_point.h"
#include "ptx/tensor_map.cuh"

namespace ladder {
namespace {

using cpu_device::box_bytes;
using cpu_device::decoded;
using cpu_device::Descriptor;
using cpu_device::for_each_piece;
using cpu_device::Piece;
using cpu_device::sectors;
using cpu_device::tensor_map_refusal;
using cpu_device::TensorMap;

// The arguments of cuTensorMapEncodeTiled, of a matrix of 5 x 70 halves with 72 from row to row and
// boxes of 4 x 64. A test changes what it is about.
struct Arguments {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  cuuint32_t rank = 2;
  void* base = nullptr;
  cuuint64_t sizes[6] = {70, 5, 1, 1, 1, 1};
  cuuint64_t strides[5] = {144, 720, 720, 720, 720};
  cuuint32_t box[6] = {64, 4, 1, 1, 1, 1};
  cuuint32_t steps[6] = {1, 1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  CUresult encode(CUtensorMap* map) const {
    return cuTensorMapEncodeTiled(map, type, rank, base, sizes, strides, box, steps, interleave,
                                  swizzle, promotion, fill);
  }
  // The map, which has to be accepted.
  TensorMap map() const {
    CUtensorMap map;
    EXPECT_EQ(CUDA_SUCCESS, encode(&map)) << tensor_map_refusal();
    return map.map;
  }
};

// Shared memory after a load, at whose byte `to` the box begins. 0xEE where nothing came.
std::vector<unsigned char> load(const TensorMap& map, std::vector<int> at, uint32_t to = 0) {
  std::vector<unsigned char> shared(64 * 1024, 0xEE);
  at.resize(5);
  for_each_piece(map, at.data(), to, [&](const Piece& piece) {
    unsigned char* const chunk = &shared.at(piece.shared);
    std::memset(chunk, map.fill, cpu_device::PIECE_BYTES);
    if (piece.inside > 0)
      std::memcpy(chunk + piece.before, reinterpret_cast<void*>(piece.global + piece.before),
                  piece.inside);
  });
  return shared;
}

uint16_t half_at(const std::vector<unsigned char>& shared, size_t byte) {
  uint16_t value;
  std::memcpy(&value, &shared.at(byte), 2);
  return value;
}

struct alignas(16) Numbers {
  uint16_t number[72 * 8];
};
Numbers numbers() {
  Numbers n;
  std::iota(std::begin(n.number), std::end(n.number), uint16_t{1});
  return n;
}

TEST(TensorMaps, AreEncodedByTheKernelsOwnFunction) {
  Numbers n = numbers();
  const CUtensorMap map = ptx::tensor_map(reinterpret_cast<half*>(n.number), 5, 70, 72, 4);
  ASSERT_NE(nullptr, decoded(&map));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(n.number), decoded(&map)->base);
  EXPECT_EQ(512u, box_bytes(*decoded(&map)));
  const auto refused = [&] {
    const CUtensorMap none = ptx::tensor_map(reinterpret_cast<half*>(n.number), 5, 70, 70, 4);
    return decoded(&none)->rank;  // used, for g++ 12 does not align what nobody uses
  };
  EXPECT_THROW(refused(), CudaError);
  EXPECT_EQ(
      "the stride of dimension 1 is 140, but has to be a multiple of 16 bytes, less than 2^40",
      tensor_map_refusal());
}

TEST(TensorMaps, AreTheOnlyThingThatTheDriverIsAskedFor) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &function, 12000, cudaEnableDefault,
                                   &found);
  EXPECT_EQ(nullptr, function);
  EXPECT_EQ(cudaDriverEntryPointSymbolNotFound, found);
}

// Each rule with what just breaks it and what is just allowed.
TEST(TensorMaps, AreRefusedByTheDriversRules) {
  constexpr uint64_t G = 1 << 30;
  const struct {
    const char* rule;
    void (*breaks)(Arguments&);
    void (*keeps)(Arguments&);
  } rules[] = {
      {"the type is 99", [](Arguments& a) { a.type = static_cast<CUtensorMapDataType>(99); },
       [](Arguments& a) { a.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16; }},
      {"the rank is 0", [](Arguments& a) { a.rank = 0; }, [](Arguments& a) { a.rank = 1; }},
      {"the rank is 6", [](Arguments& a) { a.rank = 6; }, [](Arguments& a) { a.rank = 5; }},
      {"the matrix's address is 8", [](Arguments& a) { a.base = reinterpret_cast<void*>(8); },
       [](Arguments& a) { a.base = reinterpret_cast<void*>(16); }},
      {"the size of dimension 1 is 0", [](Arguments& a) { a.sizes[1] = 0; },
       [](Arguments& a) { a.sizes[1] = 1; }},
      {"the size of dimension 0 is 4294967297", [](Arguments& a) { a.sizes[0] = 4 * G + 1; },
       [](Arguments& a) { a.sizes[0] = 4 * G; }},
      {"the stride of dimension 1 is 152", [](Arguments& a) { a.strides[0] = 152; },
       [](Arguments& a) { a.strides[0] = 160; }},
      {"the stride of dimension 1 is 1099511627776", [](Arguments& a) { a.strides[0] = 1024 * G; },
       [](Arguments& a) { a.strides[0] = 1024 * G - 16; }},
      {"the box of dimension 1 is 0", [](Arguments& a) { a.box[1] = 0; },
       [](Arguments& a) { a.box[1] = 1; }},
      {"the box of dimension 1 is 257", [](Arguments& a) { a.box[1] = 257; },
       [](Arguments& a) { a.box[1] = 256; }},
      {"the step of dimension 1 is 0", [](Arguments& a) { a.steps[1] = 0; },
       [](Arguments& a) { a.steps[1] = 1; }},
      {"the step of dimension 1 is 9", [](Arguments& a) { a.steps[1] = 9; },
       [](Arguments& a) { a.steps[1] = 8; }},
      {"the interleave is 1", [](Arguments& a) { a.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; },
       [](Arguments&) {}},
      {"a row of the box is 120, but has to be a multiple of 16",
       [](Arguments& a) { a.box[0] = 60; }, [](Arguments& a) { a.box[0] = 56; }},
      {"a row of the box is 144, but has to be at most the swizzle's 128 bytes",
       [](Arguments& a) { a.box[0] = 72; }, [](Arguments& a) { a.box[0] = 64; }},
      {"a row of the box is 80, but has to be at most the swizzle's 64 bytes",
       [](Arguments& a) { a.box[0] = 40, a.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; },
       [](Arguments& a) { a.box[0] = 32, a.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }},
      {"a row of the box is 48, but has to be at most the swizzle's 32 bytes",
       [](Arguments& a) { a.box[0] = 24, a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B; },
       [](Arguments& a) { a.box[0] = 256, a.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE; }},
      {"the swizzle is 4", [](Arguments& a) { a.swizzle = static_cast<CUtensorMapSwizzle>(4); },
       [](Arguments&) {}},
      {"the L2 promotion is 4",
       [](Arguments& a) { a.promotion = static_cast<CUtensorMapL2promotion>(4); },
       [](Arguments& a) { a.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B; }},
      {"the fill is 2", [](Arguments& a) { a.fill = static_cast<CUtensorMapFloatOOBfill>(2); },
       [](Arguments& a) { a.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; }},
      {"zeros: this type has no NaN",
       [](Arguments& a) {
         a.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
         a.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
       },
       [](Arguments&) {}},
  };
  for (const auto& rule : rules) {
    Arguments arguments;
    rule.breaks(arguments);
    CUtensorMap map;
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, arguments.encode(&map)) << rule.rule;
    EXPECT_NE(std::string::npos, tensor_map_refusal().find(rule.rule)) << tensor_map_refusal();
    arguments = {};
    rule.keeps(arguments);
    EXPECT_EQ(CUDA_SUCCESS, arguments.encode(&map)) << rule.rule << ": " << tensor_map_refusal();
    EXPECT_EQ("", tensor_map_refusal());
  }
}

TEST(TensorMaps, AreKnownFromOtherBytes) {
  CUtensorMap maps[2];
  std::memset(&maps[0], 0, sizeof maps);
  EXPECT_EQ(nullptr, decoded(&maps[0]));
  ASSERT_EQ(CUDA_SUCCESS, Arguments{}.encode(&maps[0]));
  EXPECT_NE(nullptr, decoded(&maps[0]));
  unsigned char* const moved = reinterpret_cast<unsigned char*>(&maps[0]) + 32;
  std::memmove(moved, &maps[0], sizeof maps[0]);
  EXPECT_EQ(nullptr, decoded(moved)) << "not at a multiple of 64";
}

// The page's example, docs/concepts/tensor_maps.md.
TEST(Boxes, BringWhatThePageSays) {
  Numbers n = numbers();
  Arguments arguments;
  arguments.base = n.number;
  const TensorMap map = arguments.map();
  const struct {
    int column, row;
    unsigned exist;
  } boxes[] = {{0, 0, 256}, {64, 0, 24}, {0, 4, 64}, {64, 4, 6}};
  for (const auto& box : boxes) {
    const auto shared = load(map, {box.column, box.row}, 1024);
    unsigned exist = 0;
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 64; ++column) {
        const int chunk = (column / 8) ^ row;
        const uint16_t found =
            half_at(shared, static_cast<size_t>(1024 + row * 128 + chunk * 16 + column % 8 * 2));
        const int m = box.row + row, k = box.column + column;
        ASSERT_EQ(m < 5 && k < 70 ? m * 72 + k + 1 : 0, found) << m << " " << k;
        exist += found != 0;
      }
    EXPECT_EQ(box.exist, exist);
    EXPECT_EQ(512, std::count_if(shared.begin(), shared.end(), [](auto b) { return b != 0xEE; }) +
                       std::count(shared.begin() + 1024, shared.begin() + 1536, 0xEE));
  }
  EXPECT_EQ(2 * 72 + 66 + 1, half_at(load(map, {64, 0}), 292));
}

struct Swizzled {
  CUtensorMapSwizzle swizzle;
  unsigned row_bytes, pitch;        // of the box: its rows, and how far apart they come
  unsigned (*place)(unsigned row);  // of each row's first chunk, in a box at a multiple of 1024
};

TEST(Boxes, AreSwizzledByTheSharedAddress) {
  const Swizzled modes[] = {
      {CU_TENSOR_MAP_SWIZZLE_NONE, 128, 128, [](unsigned) { return 0U; }},
      {CU_TENSOR_MAP_SWIZZLE_NONE, 64, 64, [](unsigned) { return 0U; }},
      {CU_TENSOR_MAP_SWIZZLE_128B, 128, 128, [](unsigned row) { return row % 8; }},
      {CU_TENSOR_MAP_SWIZZLE_64B, 64, 64, [](unsigned row) { return row / 2 % 4; }},
      {CU_TENSOR_MAP_SWIZZLE_32B, 32, 32, [](unsigned row) { return row / 4 % 2; }},
      // Rows shorter than the span lie a span apart.
      {CU_TENSOR_MAP_SWIZZLE_128B, 32, 128, [](unsigned row) { return row % 8; }},
      {CU_TENSOR_MAP_SWIZZLE_64B, 48, 64, [](unsigned row) { return row / 2 % 4; }},
  };
  constexpr unsigned ROWS = 32, PITCH = 128;
  alignas(16) unsigned char matrix[ROWS][PITCH];
  for (unsigned row = 0; row < ROWS; ++row)
    for (unsigned byte = 0; byte < PITCH; ++byte)
      matrix[row][byte] = static_cast<unsigned char>(row * 8 + byte / 16);
  for (const Swizzled& mode : modes) {
    Arguments arguments;
    arguments.type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    arguments.base = matrix;
    arguments.sizes[0] = PITCH;
    arguments.sizes[1] = ROWS;
    arguments.strides[0] = PITCH;
    arguments.box[0] = mode.row_bytes;
    arguments.box[1] = ROWS;
    arguments.swizzle = mode.swizzle;
    const TensorMap map = arguments.map();
    EXPECT_EQ(mode.row_bytes * ROWS, box_bytes(map));
    for (const unsigned shift : {0U, 128U, 384U}) {  // into the pattern
      const auto shared = load(map, {0, 0}, 2048 + shift);
      for (unsigned row = 0; row < ROWS; ++row)
        for (unsigned chunk = 0; chunk < mode.row_bytes / 16; ++chunk) {
          const unsigned place = chunk ^ mode.place(row + shift / mode.pitch);
          ASSERT_EQ(matrix[row][chunk * 16], shared[2048 + shift + row * mode.pitch + place * 16])
              << mode.swizzle << " " << mode.row_bytes << " " << shift << " " << row << " "
              << chunk;
        }
    }
  }
}

TEST(Boxes, BeginBeforeTheMatrixToo) {
  Numbers n = numbers();
  Arguments arguments;
  arguments.base = n.number;
  arguments.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  const auto shared = load(arguments.map(), {-3, -1});
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 64; ++column)
      ASSERT_EQ(row >= 1 && column >= 3 ? (row - 1) * 72 + column - 3 + 1 : 0,
                half_at(shared, static_cast<size_t>(row * 128 + column * 2)))
          << row << " " << column;
  const auto outside = load(arguments.map(), {0, -4});
  EXPECT_EQ(512, std::count(outside.begin(), outside.begin() + 512, 0));
}

TEST(Boxes, AreFilledWithNaNOnRequest) {
  Numbers n = numbers();
  Arguments arguments;
  arguments.base = n.number;
  arguments.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  const auto shared = load(arguments.map(), {64, 4});
  EXPECT_EQ(4 * 72 + 70, half_at(shared, 10));
  for (size_t byte = 12; byte < 512; byte += 2)
    ASSERT_TRUE(std::isnan(__half2float(__ushort_as_half(half_at(shared, byte))))) << byte;
}

// Any rank, any size of elements, any steps, against loops over elements.
TEST(Boxes, HaveUpToFiveDimensions) {
  const struct {
    CUtensorMapDataType type;
    unsigned bytes;
  } types[] = {{CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8}};
  alignas(16) unsigned char matrix[4 * 3 * 4 * 5 * 48];
  for (size_t i = 0; i < sizeof matrix; ++i) matrix[i] = static_cast<unsigned char>(i % 251 + 1);
  for (const auto& type : types)
    for (cuuint32_t rank = 1; rank <= 5; ++rank) {
      Arguments arguments;
      arguments.type = type.type;
      arguments.rank = rank;
      arguments.base = matrix;
      arguments.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
      const cuuint64_t sizes[] = {40 / type.bytes, 5, 4, 3, 4};
      const cuuint64_t strides[] = {48, 240, 960, 2880};
      const cuuint32_t box[] = {32 / type.bytes, 5, 2, 3, 3}, steps[] = {8, 3, 1, 2, 1};
      const unsigned counts[] = {32, 2, 2, 2, 3};  // the first in bytes
      std::copy(std::begin(sizes), std::end(sizes), arguments.sizes);
      std::copy(std::begin(strides), std::end(strides), arguments.strides);
      std::copy(std::begin(box), std::end(box), arguments.box);
      std::copy(std::begin(steps), std::end(steps), arguments.steps);
      const int at[] = {static_cast<int>(16 / type.bytes), 2, -1, 1, 2};
      const TensorMap map = arguments.map();
      const auto shared = load(map, {at, at + 5});
      size_t to = 0;
      unsigned index[5] = {};
      const auto element = [&] {  // what belongs at `index`, byte by byte
        int64_t byte = 16 + index[0];
        bool inside = byte < 40;
        for (unsigned d = 1; d < rank; ++d) {
          const int64_t i = at[d] + int64_t{index[d] * steps[d]};
          inside = inside && i >= 0 && i < static_cast<int64_t>(sizes[d]);
          byte += i * static_cast<int64_t>(strides[d - 1]);
        }
        return inside ? matrix[byte] : 0;
      };
      while (true) {
        ASSERT_EQ(element(), shared[to])
            << type.bytes << " bytes, rank " << rank << ", byte " << to;
        ++to;
        unsigned d = 0;
        while (d < rank && ++index[d] == counts[d]) index[d++] = 0;
        if (d == rank) break;
      }
      EXPECT_EQ(to, box_bytes(map));
      EXPECT_EQ(0xEE, shared[to]);
    }
}

// What a store writes of a row of `columns` halves, by the byte of the row.
std::set<int64_t> stored(cuuint64_t columns, int column) {
  alignas(16) static unsigned char matrix[5 * 144];
  Arguments arguments;
  arguments.base = matrix;
  arguments.sizes[0] = columns;
  const int at[] = {column, 4};  // the last row: three of the box's do not exist
  std::set<int64_t> bytes;
  for_each_piece(arguments.map(), at, 0, [&](const Piece& piece) {
    EXPECT_LE(piece.before + piece.stored, cpu_device::PIECE_BYTES);
    for (unsigned i = 0; i < piece.stored; ++i)
      bytes.insert(static_cast<int64_t>(piece.global + piece.before + i -
                                        reinterpret_cast<uintptr_t>(matrix) - 4 * 144));
  });
  return bytes;
}
std::set<int64_t> range(int64_t begin, int64_t end) {
  std::set<int64_t> bytes;
  for (; begin < end; ++begin) bytes.insert(begin);
  return bytes;
}

// As measured: docs/concepts/tensor_maps.md, "A store past the end of a row".
TEST(Boxes, AreStoredPastTheEndOfARowByWholeChunks) {
  EXPECT_EQ(range(128, 144), stored(70, 64));
  EXPECT_EQ(range(128, 144), stored(65, 64));
  EXPECT_EQ(range(128, 144), stored(72, 64));
  EXPECT_EQ(range(0, 128), stored(64, 0));
  EXPECT_EQ(range(0, 128), stored(70, 0));
  EXPECT_EQ(range(0, 16), stored(3, 0));
  EXPECT_EQ(range(0, 0), stored(64, 64));
  EXPECT_EQ(range(0, 112), stored(70, -8));
  EXPECT_EQ(range(0, 122), stored(70, -3));
}

TEST(Boxes, AreStoredFromTheirSwizzledPlaces) {
  Numbers n = numbers();
  const Numbers before = n;
  Arguments arguments;
  arguments.base = n.number;
  const TensorMap map = arguments.map();
  auto shared = load(map, {0, 1}, 1024);
  std::memset(n.number, 0, sizeof n.number);
  const int at[] = {0, 1};
  for_each_piece(map, at, 1024, [&](const Piece& piece) {
    std::memcpy(reinterpret_cast<void*>(piece.global + piece.before),
                &shared[piece.shared + piece.before], piece.stored);
  });
  for (int i = 0; i < 72 * 8; ++i)
    ASSERT_EQ(i / 72 >= 1 && i / 72 < 5 && i % 72 < 64 ? before.number[i] : 0, n.number[i]) << i;
}

TEST(Boxes, AreAtMultiplesOf128) {
  const TensorMap map = Arguments().map();
  EXPECT_EQ("", copy_problem(map, 0, 1152));
  for (const uint32_t shared : {16U, 64U, 1168U}) EXPECT_NE("", copy_problem(map, 0, shared));
}

// docs/concepts/tensor_maps.md, "A box that begins off 16 bytes".
TEST(Boxes, BeginAtMultiplesOf16BytesOfTheMatrix) {
  const TensorMap halves = Arguments().map();
  for (const int column : {-8, 0, 8, 64}) EXPECT_EQ("", copy_problem(halves, column, 0)) << column;
  for (const int column : {-1, 1, 4, 63}) EXPECT_NE("", copy_problem(halves, column, 0)) << column;
  TensorMap floats = halves;
  floats.element_bytes = 4;
  for (const int column : {-4, 0, 4}) EXPECT_EQ("", copy_problem(floats, column, 0)) << column;
  for (const int column : {-1, 1, 2, 3, 6})
    EXPECT_NE("", copy_problem(floats, column, 0)) << column;
}

TEST(Boxes, CountTheSectorsInTheMatrix) {
  alignas(32) static unsigned char matrix[8 * 144];
  Arguments arguments;
  arguments.base = matrix;
  const auto count = [&](int column, int row) {
    const int at[] = {column, row};
    return sectors(arguments.map(), at);
  };
  EXPECT_EQ(4u, count(0, 4)) << "one row of 128 bytes, from a multiple of 32";
  EXPECT_EQ(5u, count(0, 3) - 4) << "and one from 16 after it";
  EXPECT_EQ(1u, count(64, 4)) << "12 bytes";
  EXPECT_EQ(5u, count(3, 4)) << "128 bytes from byte 6";
  EXPECT_EQ(0u, count(0, 5));
  EXPECT_EQ(0u, count(72, 0));
  EXPECT_EQ(0u, count(-64, 0));
}

constexpr uint64_t NONE = 0, SPAN_128 = 1, SPAN_64 = 2, SPAN_32 = 3;  // the field

// As kernels/ptx/wgmma.cuh makes them.
uint64_t descriptor(uint32_t address, uint32_t leading, uint32_t stride,
                    uint64_t swizzle = SPAN_128) {
  return address >> 4 | uint64_t{leading} >> 4 << 16 | uint64_t{stride} >> 4 << 32 | swizzle << 62;
}

std::vector<uint32_t> chunks(uint64_t bits, bool transposed, unsigned rows) {
  EXPECT_EQ("", cpu_device::descriptor_problem(bits, transposed, 2));
  std::vector<uint32_t> addresses;
  cpu_device::chunks(cpu_device::decode(bits), transposed, rows, addresses);
  return addresses;
}

// The operand of `rows` by 16 that a descriptor finds.
std::vector<uint16_t> gather(const std::vector<unsigned char>& shared, uint64_t bits,
                             bool transposed, unsigned rows) {
  std::vector<uint16_t> out(rows * 16);
  cpu_device::gather(shared.data(), chunks(bits, transposed, rows), transposed, out.data());
  return out;
}

// docs/concepts/descriptors.md.
TEST(Descriptors, AreDecodedAsThePageHasThem) {
  EXPECT_EQ(0x4000004000000C00U, descriptor(49152, 0, 1024));
  EXPECT_EQ(0x4000004002001000U, descriptor(65536, 8192, 1024));
  const Descriptor b = cpu_device::decode(0x4000004002001000);
  EXPECT_EQ(65536u, b.address);
  EXPECT_EQ(8192u, b.leading);
  EXPECT_EQ(1024u, b.stride);
  EXPECT_EQ(128u, b.swizzle_bytes);
  EXPECT_EQ(0u, b.base_offset);
  const Descriptor other = cpu_device::decode(SPAN_64 << 62 | uint64_t{5} << 49 | 0x3FFF);
  EXPECT_EQ(0x3FFF0u, other.address);
  EXPECT_EQ(64u, other.swizzle_bytes);
  EXPECT_EQ(5u, other.base_offset);
  EXPECT_EQ(32u, cpu_device::decode(SPAN_32 << 62).swizzle_bytes);
  EXPECT_EQ(0u, cpu_device::decode(0).swizzle_bytes);
  // Row 5 of the second k step.
  EXPECT_EQ(49904u, chunks(0x4000004000000C02, false, 64)[5]);
}

TEST(Descriptors, AreRefusedByRule) {
  const struct {
    uint64_t bits;
    bool transposed;
    unsigned element_bytes;
    const char* problem;
  } cases[] = {
      {descriptor(1024, 0, 1024), false, 1, ""},
      {descriptor(1024 + 96, 0, 1024), false, 4, ""},
      {descriptor(1024 + 112, 0, 1024), true, 2, ""},
      {descriptor(1024, 0, 1024), true, 4, "not of 2 bytes"},
      {descriptor(1024, 0, 1024) | uint64_t{1} << 49, false, 2, "base offset"},
      {descriptor(1024, 128, 256, NONE) | uint64_t{1} << 49, false, 2, ""},
      {descriptor(1024 + 128, 0, 1024), false, 2, "not in the first row of the 128-byte"},
      {descriptor(512, 0, 512, SPAN_64), false, 2, ""},
      {descriptor(512 + 64, 0, 512, SPAN_64), false, 2, "not in the first row of the 64-byte"},
      {descriptor(256 + 32, 0, 256, SPAN_32), false, 2, "not in the first row of the 32-byte"},
      {descriptor(128, 128, 256, NONE), false, 2, ""},
      {descriptor(1024 + 112, 0, 1024), false, 2, "do not end with"},
      {descriptor(512 + 48, 0, 512, SPAN_64), false, 2, "do not end with"},
      {descriptor(256 + 16, 0, 256, SPAN_32), false, 2, "do not end with"},
  };
  for (const auto& c : cases) {
    const std::string problem =
        cpu_device::descriptor_problem(c.bits, c.transposed, c.element_bytes);
    EXPECT_NE(std::string::npos, problem.find(c.problem)) << problem;
    EXPECT_EQ(*c.problem == 0, problem.empty()) << problem;
  }
  for (const int bit : {14, 15, 30, 31, 46, 47, 48, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61})
    EXPECT_EQ("a descriptor with bits set that belong to no field",
              cpu_device::descriptor_problem(uint64_t{1} << bit, false, 2))
        << bit;
}

// A tile of `rows` of `columns` halves, numbered from 1, in boxes of span bytes by `rows`: the
// first at `to`, the others behind it.
struct Tile {
  Tile(unsigned rows, unsigned columns, unsigned span, uint32_t to)
      : matrix(rows * columns), shared(64 * 1024) {
    std::iota(matrix.begin(), matrix.end(), uint16_t{1});
    Arguments arguments;
    arguments.base = matrix.data();
    arguments.sizes[0] = columns;
    arguments.sizes[1] = rows;
    arguments.strides[0] = columns * 2;
    arguments.box[0] = span / 2;
    arguments.box[1] = rows;
    arguments.swizzle = span == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                        : span == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : CU_TENSOR_MAP_SWIZZLE_32B;
    for (unsigned column = 0; column < columns; column += span / 2, to += rows * span) {
      const auto box = load(arguments.map(), {static_cast<int>(column), 0}, to);
      std::copy_n(box.begin() + to, rows * span, shared.begin() + to);
    }
  }
  std::vector<uint16_t> matrix;
  std::vector<unsigned char> shared;
};

TEST(Descriptors, FindRowsAlongKThatTmaBrought) {
  constexpr uint32_t BM = 256, TO = 3 * 1024;
  for (const auto& [span, field] : {std::pair{128U, SPAN_128}, {64U, SPAN_64}, {32U, SPAN_32}}) {
    const uint32_t BK = span / 2;
    const Tile tile(BM, BK, span, TO);
    for (uint32_t m = 0; m < BM; m += 64)
      for (uint32_t k = 0; k < BK; k += 16) {
        const uint64_t bits = descriptor(TO + m * span + k * 2, 0, 8 * span, field);
        const auto found = gather(tile.shared, bits, false, 64);
        for (uint32_t i = 0; i < 64; ++i)
          for (uint32_t j = 0; j < 16; ++j)
            ASSERT_EQ(tile.matrix[(m + i) * BK + k + j], found[i * 16 + j])
                << span << " " << m + i << " " << k + j;
        // A swizzle is there for this: each core matrix lies in all banks.
        EXPECT_EQ(16u, cpu_device::wavefronts(chunks(bits, false, 64)));
      }
  }
}

TEST(Descriptors, FindRowsAlongNThatTmaBrought) {
  constexpr uint32_t BK = 64, TO = 1024;
  for (const auto& [span, field] : {std::pair{128U, SPAN_128}, {64U, SPAN_64}, {32U, SPAN_32}})
    for (uint32_t BN = 64; BN <= 256; BN += 64) {
      const Tile tile(BK, BN, span, TO);
      for (uint32_t k = 0; k < BK; k += 16) {
        const uint64_t bits = descriptor(TO + k * span, BK * span, 8 * span, field);
        const auto found = gather(tile.shared, bits, true, BN);
        for (uint32_t n = 0; n < BN; ++n)
          for (uint32_t j = 0; j < 16; ++j)
            ASSERT_EQ(tile.matrix[(k + j) * BN + n], found[n * 16 + j])
                << span << " " << BN << " " << n << " " << k + j;
        EXPECT_EQ(BN / 4, cpu_device::wavefronts(chunks(bits, true, BN)));
      }
    }
}

// Without a swizzle a core matrix is 128 bytes in a row, and both distances are free.
TEST(Descriptors, FindCoreMatricesWithoutASwizzle) {
  constexpr uint32_t ROWS = 64, TO = 144, GROUP = 512, HALF = 16384;
  const uint64_t bits = descriptor(TO, HALF, GROUP, NONE);
  for (const bool transposed : {false, true}) {
    std::vector<unsigned char> shared(64 * 1024);
    for (uint32_t r = 0; r < ROWS; ++r)
      for (uint32_t k = 0; k < 16; ++k) {
        const uint32_t row = transposed ? k % 8 : r % 8, in_row = transposed ? r % 8 : k % 8;
        const auto value = static_cast<uint16_t>(r * 16 + k);
        std::memcpy(&shared[TO + r / 8 * GROUP + k / 8 * HALF + row * 16 + in_row * 2], &value, 2);
      }
    const auto found = gather(shared, bits, transposed, ROWS);
    for (uint16_t i = 0; i < ROWS * 16; ++i) ASSERT_EQ(i, found[i]) << transposed;
  }
}

TEST(Wavefronts, CountTheChunksInTheSameBanks) {
  std::vector<uint32_t> addresses(8);
  const auto count = [&](uint32_t pitch) {
    for (uint32_t i = 0; i < 8; ++i) addresses[i] = 4096 + i * pitch;
    return cpu_device::wavefronts(addresses);
  };
  EXPECT_EQ(1u, count(16));
  EXPECT_EQ(2u, count(32));
  EXPECT_EQ(4u, count(64));
  EXPECT_EQ(8u, count(128));
  EXPECT_EQ(1u, count(144)) << "rows padded by 16 bytes";
  addresses.resize(16, 0);
  EXPECT_EQ(9u, cpu_device::wavefronts(addresses)) << "each core matrix by itself";
}

}  // namespace
}  // namespace ladder
