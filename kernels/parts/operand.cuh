#pragma once
// An operand of wgmma in shared memory, WIDTH rows of A or columns of B by 64 of K, as TMA brings
// it. There are two forms, and a tile has the one in which its matrix lies in memory: nothing is
// turned on the way (18 shows both).
#include "../launch.cuh"
#include "../ptx/tensor_map.cuh"
#include "../ptx/tma.cuh"
#include "descriptors.cuh"

namespace ladder {

// Rows along K: A by rows, B by columns. One box has it all.
template <class T, int WIDTH, ptx::Major MAJOR>
struct Operand {
  static constexpr int BK = 64;
  T box[WIDTH][BK];

  // Of row `first` on, and of `k0` on.
  __device__ __forceinline__ void load(const CUtensorMap& map, int first, int k0, uint64_t* full) {
    ptx::tma_load(box, &map, k0, first, full);
  }
  // The same, to the blocks of the cluster that `blocks` has a bit for.
  __device__ __forceinline__ void load_to(uint16_t blocks, const CUtensorMap& map, int first,
                                          int k0, uint64_t* full) {
    ptx::tma_load_multicast(box, &map, k0, first, full, blocks);
  }
  __device__ __forceinline__ uint64_t descriptor(int first, int k) const {
    return descriptor_along_k(box, first, k);
  }
  // Bytes from what descriptor(0, 0) describes to what descriptor(first, k) does.
  __host__ __device__ static constexpr uint32_t bytes_to(int first, int k) {
    return (first * BK + k) * sizeof(T);
  }
  // Of a tile that has `rows` of the WIDTH: what load() brings, and zeros in place of the others.
  __host__ __device__ static constexpr uint32_t bytes(int rows) { return rows * BK * sizeof(T); }
  __device__ __forceinline__ void clear_below(int rows, int thread, int threads) {
    uint4* const below = reinterpret_cast<uint4*>(box[rows]);
    for (int i = thread; i < (WIDTH - rows) * BK * int{sizeof(T)} / 16; i += threads) below[i] = {};
  }
  static CUtensorMap map(const T* matrix, int width, int K, int64_t ld, int rows = WIDTH) {
    return ptx::tensor_map(matrix, width, K, ld, rows);
  }
};

// Rows along M or N: A by columns, B by rows. A box has 64 of these, and the last one perhaps more
// than the tile wants. `first` is a multiple of 64.
template <class T, int WIDTH>
struct Operand<T, WIDTH, ptx::Major::MN> {
  static constexpr int BK = 64, BOX = 64, BOXES = ceil_div(WIDTH, BOX);
  T box[BOXES][BK][BOX];

  // Where the map has several matrices, of number `matrix`.
  template <class... Matrix>
  __device__ __forceinline__ void load(const CUtensorMap& map, int first, int k0, uint64_t* full,
                                       Matrix... matrix) {
    for (int j = 0; j < BOXES; ++j)
      ptx::tma_load(box[j], &map, first + j * BOX, k0, matrix..., full);
  }
  __device__ __forceinline__ void load_to(uint16_t blocks, const CUtensorMap& map, int first,
                                          int k0, uint64_t* full) {
    for (int j = 0; j < BOXES; ++j)
      ptx::tma_load_multicast(box[j], &map, first + j * BOX, k0, full, blocks);
  }
  __device__ __forceinline__ uint64_t descriptor(int first, int k) const {
    return descriptor_b(box, k, first / BOX);
  }
  __host__ __device__ static constexpr uint32_t bytes_to(int first, int k) {
    return (first * BK + k * BOX) * sizeof(T);
  }
  // Boxes are of 64 rows, so a tile has all of its own.
  __host__ __device__ static constexpr uint32_t bytes(int /* rows */) { return sizeof(Operand); }
  __device__ __forceinline__ void clear_below(int /* rows */, int /* thread */, int /* threads */) {
  }
  static CUtensorMap map(const T* matrix, int width, int K, int64_t ld, int /* rows */ = WIDTH) {
    return ptx::tensor_map(matrix, K, width, ld, BK);
  }
};

}  // namespace ladder
