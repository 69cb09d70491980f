#pragma once
// Bodies for the functions of kernels/ptx where the CPU is the device.
#include <cstring>

#include "cpu_device/block.h"
#include "cpu_device/trace.h"

namespace ladder::ptx {

inline void cp_async(void* to, const void* from, unsigned bytes, unsigned source_bytes,
                     const cpu_device::Place& place) {
  const auto misaligned = [&](const void* p) {
    return reinterpret_cast<uintptr_t>(p) % bytes != 0;
  };
  if (misaligned(to) || misaligned(from))
    cpu_device::report_finding(place, "cp.async of " + std::to_string(bytes) +
                                          " bytes with an address that is no multiple of that");
  cpu_device::trace_async_copy(place, to, from, bytes, source_bytes);
  cpu_device::Thread& thread = cpu_device::this_block->current();
  thread.copies.push_back({to, from, bytes, source_bytes, thread.groups});
}

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
  cpu_device::Thread& thread = cpu_device::this_block->current();
  size_t kept = 0;
  for (const cpu_device::AsyncCopy& copy : thread.copies) {
    if (copy.group + N >= thread.groups) {
      thread.copies[kept++] = copy;
      continue;
    }
    std::memcpy(copy.to, copy.from, copy.source_bytes);
    std::memset(static_cast<char*>(copy.to) + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
    cpu_device::trace_async_landed(copy.to, copy.bytes);
  }
  thread.copies.resize(kept);
}

inline void mbarrier_init(uint64_t* barrier, uint32_t count,
                          cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->prepare_mbarrier(barrier, count, place);
}
inline void mbarrier_arrive(uint64_t*, cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->arrive(place);
}
// Comes back when the phase is complete: the kernel's loop around it turns once.
inline bool mbarrier_test_wait_parity(uint64_t* barrier, uint32_t parity,
                                      cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->wait_for_phase(barrier, parity, place);
  return true;
}

// See ptx.cpp.
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

}  // namespace ladder::ptx
