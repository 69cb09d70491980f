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
  EXPECT_THROW(ptx::tensor_map(reinterpret_cast<half*>(n.number), 5, 70, 70, 4), CudaError);
  EXPECT_EQ(
      "the stride of dimension 1 is 140, but has to be a multiple of 16 bytes, less than 2^40",
      tensor_map_refusal());
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

constexpr int BK = 64;

// The kernels' own descriptors: kernels/parts/descriptors.cuh cannot be called here, for their
// tiles' addresses are those of a block's shared memory.
uint64_t descriptor(uint32_t address, uint32_t leading, uint32_t stride, uint64_t swizzle = 1) {
  return address >> 4 | uint64_t{leading} >> 4 << 16 | uint64_t{stride} >> 4 << 32 | swizzle << 62;
}

TEST(Descriptors, FindAThatTmaBrought) {
  constexpr int BM = 256;
  std::vector<uint16_t> a(BM * BK);
  std::iota(a.begin(), a.end(), uint16_t{0});
  const CUtensorMap map = ptx::tensor_map(reinterpret_cast<half*>(a.data()), BM, BK, BK, BM);
  const uint32_t to = 3 * 1024;
  const auto shared = load(map.map, {0, 0}, to);
  for (uint32_t m = 0; m < BM; m += 64)
    for (uint32_t k = 0; k < BK; k += 16) {
      const uint64_t bits = descriptor(to + m * 128 + k * 2, 0, 1024);
      EXPECT_EQ("", cpu_device::descriptor_problem(bits, false, 2));
      std::vector<uint32_t> chunks;
      cpu_device::chunks(cpu_device::decode(bits), false, 64, chunks);
      EXPECT_EQ(16u, cpu_device::wavefronts(chunks));
      uint16_t out[64][16];
      cpu_device::gather(shared.data(), chunks, false, out[0]);
      for (uint32_t i = 0; i < 64; ++i)
        for (uint32_t j = 0; j < 16; ++j)
          ASSERT_EQ(a[(m + i) * BK + k + j], out[i][j]) << m + i << " " << k + j;
    }
}

TEST(Descriptors, FindBThatTmaBrought) {
  for (uint32_t BN = 64; BN <= 256; BN += 64) {
    std::vector<uint16_t> b(BK * BN);
    std::iota(b.begin(), b.end(), uint16_t{0});
    const CUtensorMap map =
        ptx::tensor_map(reinterpret_cast<half*>(b.data()), BK, static_cast<int>(BN), BN, BK);
    const uint32_t to = 1024;
    std::vector<unsigned char> shared(64 * 1024);
    for (uint32_t n = 0; n < BN; n += 64) {
      const auto box = load(map.map, {static_cast<int>(n), 0}, to + n * 128);
      std::copy_n(box.begin() + to + n * 128, 8192, shared.begin() + to + n * 128);
    }
    for (uint32_t k = 0; k < BK; k += 16) {
      const uint64_t bits = descriptor(to + k * 128, 8192, 1024);
      EXPECT_EQ("", cpu_device::descriptor_problem(bits, true, 2));
      std::vector<uint32_t> chunks;
      cpu_device::chunks(cpu_device::decode(bits), true, BN, chunks);
      EXPECT_EQ(BN / 4, cpu_device::wavefronts(chunks));
      std::vector<uint16_t> out(BN * 16);
      cpu_device::gather(shared.data(), chunks, true, out.data());
      for (uint32_t n = 0; n < BN; ++n)
        for (uint32_t j = 0; j < 16; ++j)
          ASSERT_EQ(b[(k + j) * BN + n], out[n * 16 + j]) << n << " " << k + j;
    }
  }
}

}  // namespace
}  // namespace ladder
