#pragma once
// Bodies for the functions of kernels/ptx where the CPU is the device.
#include <cstring>

#include "simt/block.h"
#include "simt/trace.h"

namespace ptx {

inline void cp_async(void* to, const void* from, unsigned bytes, unsigned source_bytes,
                     const simt::Place& place) {
  const auto misaligned = [&](const void* p) {
    return reinterpret_cast<uintptr_t>(p) % bytes != 0;
  };
  if (misaligned(to) || misaligned(from))
    simt::report_finding(place, "cp.async of " + std::to_string(bytes) +
                                    " bytes with an address that is no multiple of that");
  if (source_bytes > 0) simt::trace_access(place, from, source_bytes, simt::Operation::LOAD);
  simt::trace_async_store(place, to, bytes);
  simt::Thread& thread = simt::this_block->current();
  thread.copies.push_back({to, from, bytes, source_bytes, thread.groups});
}

inline void cp_async_ca_4(void* dst, const void* src, int src_bytes,
                          simt::Place place = simt::here()) {
  cp_async(dst, src, 4, static_cast<unsigned>(src_bytes), place);
}
inline void cp_async_cg_16(void* dst, const void* src, int src_bytes,
                           simt::Place place = simt::here()) {
  cp_async(dst, src, 16, static_cast<unsigned>(src_bytes), place);
}
inline void cp_async_cg_16_ignore_src(void* dst, const void* src, bool ignore,
                                      simt::Place place = simt::here()) {
  cp_async(dst, src, 16, ignore ? 0 : 16, place);
}
inline void cp_async_commit_group() {
  ++simt::this_block->current().groups;
}

template <int N>
void cp_async_wait_group() {
  simt::Thread& thread = simt::this_block->current();
  size_t kept = 0;
  for (const simt::AsyncCopy& copy : thread.copies) {
    if (copy.group + N >= thread.groups) {
      thread.copies[kept++] = copy;
      continue;
    }
    std::memcpy(copy.to, copy.from, copy.source_bytes);
    std::memset(static_cast<char*>(copy.to) + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
    simt::trace_async_landed(copy.to, copy.bytes);
  }
  thread.copies.resize(kept);
}

inline void mbarrier_init(uint64_t* barrier, uint32_t count, simt::Place place = simt::here()) {
  simt::this_block->prepare_mbarrier(barrier, count, place);
}
inline void mbarrier_arrive(uint64_t*, simt::Place place = simt::here()) {
  simt::this_block->arrive(place);
}
// Comes back when the phase is complete: the kernel's loop around it turns once.
inline bool mbarrier_test_wait_parity(uint64_t* barrier, uint32_t parity,
                                      simt::Place place = simt::here()) {
  simt::this_block->wait_for_phase(barrier, parity, place);
  return true;
}

// See ptx.cpp.
void ldmatrix(uint32_t (&r)[4], const void* row, bool transposed, const simt::Place& place);
inline void ldmatrix_x4(uint32_t (&r)[4], const void* row, simt::Place place = simt::here()) {
  ldmatrix(r, row, false, place);
}
inline void ldmatrix_x4_trans(uint32_t (&r)[4], const void* row, simt::Place place = simt::here()) {
  ldmatrix(r, row, true, place);
}
void mma_m16n8k16_f32_f16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                          simt::Place place = simt::here());

}  // namespace ptx
