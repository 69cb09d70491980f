#pragma once
// Bodies for the functions of kernels/ptx where the CPU is the device.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstring>
#include <type_traits>

#include "cpu_device/block.h"
#include "cpu_device/tma.h"
#include "cpu_device/trace.h"
#include "cpu_device/wgmma.h"

namespace ladder::ptx {

// See ptx.cpp.
void cp_async(void* to, const void* from, unsigned bytes, unsigned source_bytes,
              const cpu_device::Place& place);
void cp_async_wait_group(unsigned groups);
inline void cp_async_ca_4(void* dst, const void* src, int src_bytes,
                          cpu_device::Place place = cpu_device::here()) {
  cp_async(dst, src, 4, static_cast<unsigned>(src_bytes), place);
}
inline void cp_async_cg_16(void* dst, const void* src, int src_bytes,
                           cpu_device::Place place = cpu_device::here()) {
  cp_async(dst, src, 16, static_cast<unsigned>(src_bytes), place);
}
inline void cp_async_cg_16_ignore_src(void* dst, const void* src, bool ignore,
                                      cpu_device::Place place = cpu_device::here()) {
  cp_async(dst, src, 16, ignore ? 0 : 16, place);
}
inline void cp_async_commit_group() {
  ++cpu_device::this_block->current().groups;
}

template <int N>
void cp_async_wait_group() {
  cp_async_wait_group(N);
}

void ldmatrix(uint32_t (&r)[4], const void* row, bool transposed, const cpu_device::Place& place);
inline void ldmatrix_x4(uint32_t (&r)[4], const void* row,
                        cpu_device::Place place = cpu_device::here()) {
  ldmatrix(r, row, false, place);
}
inline void ldmatrix_x4_trans(uint32_t (&r)[4], const void* row,
                              cpu_device::Place place = cpu_device::here()) {
  ldmatrix(r, row, true, place);
}
void mma_m16n8k16_f32_f16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                          cpu_device::Place place = cpu_device::here());
void mma_m16n8k16_f32_bf16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                           cpu_device::Place place = cpu_device::here());
void stmatrix(void* row, const uint32_t* r, unsigned matrices, bool transposed,
              const cpu_device::Place& place);
inline void stmatrix_x4(void* row, const uint32_t (&r)[4],
                        cpu_device::Place place = cpu_device::here()) {
  stmatrix(row, r, 4, false, place);
}
inline void stmatrix_x4_trans(void* row, const uint32_t (&r)[4],
                              cpu_device::Place place = cpu_device::here()) {
  stmatrix(row, r, 4, true, place);
}
inline void stmatrix_x2_trans(void* row, const uint32_t (&r)[2],
                              cpu_device::Place place = cpu_device::here()) {
  stmatrix(row, r, 2, true, place);
}

uint32_t movmatrix_trans(uint32_t pair, cpu_device::Place place = cpu_device::here());

// Exact: which of the values within its error the GPU gives is not documented.
inline float tanh_approx(float x) {
  return std::tanh(x);
}
inline float exp2_approx(float x) {
  constexpr float SMALLEST_NORMAL = 0x1p-126f;
  const float y = std::exp2(x);
  return y < SMALLEST_NORMAL ? 0 : y;
}
inline float max_or_nan(float x, float y) {
  return cpu_device::unless_nan(x, y, std::fmax(x, y));
}

// --- mbarriers ----------------------------------------------------------------------------------

inline void mbarrier_init(uint64_t* barrier, uint32_t count,
                          cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->mbarriers().init(barrier, count, place);
}
inline void mbarrier_arrive(uint64_t* barrier, cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->mbarriers().arrive(barrier, 0, place);
}
inline void mbarrier_arrive_expect_tx(uint64_t* barrier, uint32_t bytes,
                                      cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->mbarriers().arrive(barrier, bytes, place);
}
inline void mbarrier_arrive_cluster(uint64_t* barrier, uint32_t rank,
                                    cpu_device::Place place = cpu_device::here()) {
  cpu_device::Block& block = *cpu_device::this_block;
  if (rank >= block.team().block_count())
    return cpu_device::report_finding(place, "arrives in a block that the cluster does not have");
  cpu_device::Block& other = block.team().block(rank);
  other.mbarriers().arrive(reinterpret_cast<uint64_t*>(other.at(block.shared_address(barrier))), 0,
                           place);
}
// Come back when the phase is complete: a kernel's loop around them turns once.
inline bool mbarrier_test_wait_parity(uint64_t* barrier, uint32_t parity,
                                      cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->mbarriers().wait(barrier, parity, place);
  return true;
}
inline bool mbarrier_try_wait_parity(uint64_t* barrier, uint32_t parity,
                                     cpu_device::Place place = cpu_device::here()) {
  return mbarrier_test_wait_parity(barrier, parity, place);
}
inline void mbarrier_wait_parity(uint64_t* barrier, uint32_t parity,
                                 cpu_device::Place place = cpu_device::here()) {
  mbarrier_test_wait_parity(barrier, parity, place);
}
inline void mbarrier_wait_parity_cluster(uint64_t* barrier, uint32_t parity,
                                         cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->mbarriers().wait(barrier, parity, place, true);
}
inline void fence_mbarrier_init() {
  cpu_device::this_block->mbarriers().fence();
  cpu_device::this_block->team().barriers_fenced();
}

// --- TMA ----------------------------------------------------------------------------------------

inline void tma_load_multicast(void* to, const CUtensorMap* map, int col, int row,
                               uint64_t* barrier, uint16_t blocks,
                               cpu_device::Place place = cpu_device::here()) {
  const int at[] = {col, row};
  cpu_device::tma_load(to, map, at, barrier, blocks, place);
}
inline void tma_load(void* to, const CUtensorMap* map, int col, int row, uint64_t* barrier,
                     cpu_device::Place place = cpu_device::here()) {
  const auto own = static_cast<uint16_t>(1u << cpu_device::this_block->rank());
  tma_load_multicast(to, map, col, row, barrier, own, place);
}
inline void tma_load(void* to, const CUtensorMap* map, int col, int row, int matrix,
                     uint64_t* barrier, cpu_device::Place place = cpu_device::here()) {
  const int at[] = {col, row, matrix};
  const auto own = static_cast<uint16_t>(1u << cpu_device::this_block->rank());
  cpu_device::tma_load(to, map, at, barrier, own, place);
}
inline void bulk_load(void* to, const void* from, uint32_t bytes, uint64_t* barrier,
                      cpu_device::Place place = cpu_device::here()) {
  cpu_device::bulk_load(to, from, bytes, barrier, place);
}
inline void tma_store(const CUtensorMap* map, int col, int row, const void* from,
                      cpu_device::Place place = cpu_device::here()) {
  const int at[] = {col, row};
  cpu_device::tma_store(map, at, from, cpu_device::StoreMode::WRITE, place);
}
inline void tma_reduce_add(const CUtensorMap* map, int col, int row, const void* from,
                           cpu_device::Place place = cpu_device::here()) {
  const int at[] = {col, row};
  cpu_device::tma_store(map, at, from, cpu_device::StoreMode::ADD_HALVES, place);
}
inline void prefetch_tensor_map(const CUtensorMap*) {}
inline void fence_proxy_async() {
  cpu_device::fence_proxy_async();
}
inline void bulk_commit_group() {
  cpu_device::bulk_commit_group();
}
template <int N>
void bulk_wait_group_read() {
  cpu_device::bulk_wait_group(N);
}

// --- wgmma --------------------------------------------------------------------------------------

// As kernels/ptx/wgmma.cuh has it.
inline uint64_t wgmma_descriptor(const void* tile, uint64_t leading_bytes, uint64_t stride_bytes) {
  constexpr uint64_t SWIZZLE_128B = 1;
  const uint64_t address = cpu_device::this_block->shared_address(tile);
  return (address & 0x3FFFF) >> 4 | leading_bytes >> 4 << 16 | stride_bytes >> 4 << 32 |
         SWIZZLE_128B << 62;
}
inline void wgmma_fence() {
  cpu_device::wgmma_fence();
}
inline void wgmma_commit_group() {
  cpu_device::wgmma_commit_group();
}
template <int N>
void wgmma_wait_group(cpu_device::Place place = cpu_device::here()) {
  cpu_device::wgmma_wait_group(N, place);
}
enum class Major { K, MN };
template <class T>
inline constexpr auto WGMMA_OF_16_BITS =
    std::is_same_v<T, half> ? cpu_device::WgmmaType::F16 : cpu_device::WgmmaType::BF16;
template <class T, Major OF_A, Major OF_B, int COUNT>
void wgmma_m64k16_f32(float (&d)[COUNT], uint64_t a, uint64_t b, bool accumulate,
                      cpu_device::Place place = cpu_device::here()) {
  static_assert(COUNT % 4 == 0 && COUNT <= 128, "N is a multiple of 8 up to 256");
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, __nv_bfloat16>);
  cpu_device::wgmma(WGMMA_OF_16_BITS<T>, d, 2 * COUNT, a, b, accumulate, OF_A == Major::MN,
                    OF_B == Major::MN, place);
}
template <class T, Major OF_B, int COUNT>
void wgmma_m64k16_f32(float (&d)[COUNT], const uint32_t (&a)[4], uint64_t b, bool accumulate,
                      cpu_device::Place place = cpu_device::here()) {
  static_assert(COUNT % 4 == 0 && COUNT <= 128, "N is a multiple of 8 up to 256");
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, __nv_bfloat16>);
  cpu_device::wgmma_a_in_registers(WGMMA_OF_16_BITS<T>, d, 2 * COUNT, a, b, accumulate,
                                   OF_B == Major::MN, place);
}
template <int COUNT>
void wgmma_m64k16_f32_f16(float (&d)[COUNT], uint64_t a, uint64_t b, bool accumulate,
                          cpu_device::Place place = cpu_device::here()) {
  wgmma_m64k16_f32<half, Major::K, Major::MN>(d, a, b, accumulate, place);
}
template <int COUNT>
void wgmma_m64k16_f32_f16_a_along_m(float (&d)[COUNT], uint64_t a, uint64_t b, bool accumulate,
                                    cpu_device::Place place = cpu_device::here()) {
  wgmma_m64k16_f32<half, Major::MN, Major::K>(d, a, b, accumulate, place);
}
// Both along k. Accumulators of integers are 32 bits as well, which nothing here looks into.
template <int COUNT>
void wgmma_m64k32_s32_s8(int32_t (&d)[COUNT], uint64_t a, uint64_t b, bool accumulate,
                         cpu_device::Place place = cpu_device::here()) {
  static_assert(COUNT == 4 || COUNT == 12 || (COUNT % 8 == 0 && COUNT <= 128),
                "N is 8, 24 or a multiple of 16 up to 256");
  cpu_device::wgmma(cpu_device::WgmmaType::S8, reinterpret_cast<float*>(d), 2 * COUNT, a, b,
                    accumulate, false, false, place);
}
template <int COUNT>
void wgmma_m64k8_f32_tf32(float (&d)[COUNT], uint64_t a, uint64_t b, bool accumulate,
                          cpu_device::Place place = cpu_device::here()) {
  static_assert(COUNT % 4 == 0 && COUNT <= 128, "N is a multiple of 8 up to 256");
  cpu_device::wgmma(cpu_device::WgmmaType::TF32, d, 2 * COUNT, a, b, accumulate, false, false,
                    place);
}
template <class T, int COUNT>
void wgmma_m64k32_f32_fp8(float (&d)[COUNT], uint64_t a, uint64_t b, bool accumulate,
                          cpu_device::Place place = cpu_device::here()) {
  static_assert(COUNT % 4 == 0 && COUNT <= 128, "N is a multiple of 8 up to 256");
  constexpr auto TYPE =
      std::is_same_v<T, __nv_fp8_e4m3> ? cpu_device::WgmmaType::E4M3 : cpu_device::WgmmaType::E5M2;
  static_assert(std::is_same_v<T, __nv_fp8_e4m3> || std::is_same_v<T, __nv_fp8_e5m2>);
  cpu_device::wgmma(TYPE, d, 2 * COUNT, a, b, accumulate, false, false, place);
}

// --- Pairs of 16 bits -------------------------------------------------------------------------

inline uint32_t and_or(uint32_t x, uint32_t mask, uint32_t bits) {
  return (x & mask) | bits;
}
// f of the lower halves and of the upper ones, each in fp32 and rounded to T.
template <class T, class F>
uint32_t of_pairs(uint32_t a, uint32_t b, const F& f) {
  const auto of_half = [&](unsigned shift) {
    const auto as_float = [&](uint32_t pair) {
      const auto bits = static_cast<uint16_t>(pair >> shift);
      T x;
      std::memcpy(&x, &bits, sizeof x);
      return static_cast<float>(x);
    };
    const T d = static_cast<T>(f(as_float(a), as_float(b)));
    uint16_t bits;
    std::memcpy(&bits, &d, sizeof bits);
    return uint32_t{bits} << shift;
  };
  return of_half(0) | of_half(16);
}
template <class T>
uint32_t subtract_pairs(uint32_t a, uint32_t b) {
  return of_pairs<T>(a, b, [](float x, float y) { return x - y; });
}
template <class T>
uint32_t multiply_pairs(uint32_t a, uint32_t b) {
  return of_pairs<T>(a, b, [](float x, float y) { return x * y; });
}

// --- Integers -----------------------------------------------------------------------------------

inline uint16_t pack_s8(int32_t low, int32_t high) {
  const auto saturated = [](int32_t x) {
    return static_cast<unsigned>(std::min(std::max(x, -128), 127)) & 0xFF;
  };
  return static_cast<uint16_t>(saturated(low) | saturated(high) << 8);
}

// --- Clusters, registers ------------------------------------------------------------------------

inline void cluster_arrive(cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->team().cluster_arrive(place);
}
inline void cluster_arrive_relaxed(cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->team().cluster_arrive(place, true);
}
inline void cluster_wait(cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->team().cluster_wait(place);
}
inline void cluster_sync(cpu_device::Place place = cpu_device::here()) {
  cluster_arrive(place);
  cluster_wait(place);
}
template <class T>
T* shared_of_block(T* pointer, uint32_t rank, cpu_device::Place place = cpu_device::here()) {
  cpu_device::Block& block = *cpu_device::this_block;
  if (rank >= block.team().block_count()) {
    cpu_device::report_finding(place, "a block that the cluster does not have");
    return pointer;
  }
  return reinterpret_cast<T*>(block.team().block(rank).at(block.shared_address(pointer)));
}
void store_async(float4* to, float4 value, uint64_t* barrier, uint32_t rank,
                 cpu_device::Place place = cpu_device::here());
inline void named_barrier_sync(int id, int threads, cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->named_barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads),
                                        true, place);
}
inline void named_barrier_arrive(int id, int threads,
                                 cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->named_barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads),
                                        false, place);
}
inline bool elect_one(cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->warp_collective(
      nullptr,
      [&](void**, uint32_t lanes) {
        if (lanes != ~0u) cpu_device::report_finding(place, "elect.sync by a part of a warp");
      },
      place);
  return cpu_device::this_block->lane() == 0;
}
template <int N>
void setmaxnreg_dec(cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->registers().set(N, false, place);
}
template <int N>
void setmaxnreg_inc(cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->registers().set(N, true, place);
}

// One kernel is done when the next is launched.
inline void let_next_grid_start() {}
inline void wait_for_grids_before() {}

}  // namespace ladder::ptx
