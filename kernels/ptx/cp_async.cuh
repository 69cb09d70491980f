#pragma once
// cp.async (sm_80): copies from global to shared memory that no register and no thread waits for.
// PTX ISA, "Data Movement and Conversion Instructions: cp.async".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cstdint>

namespace ladder::ptx {

// Copies `src_bytes` (0 to 4) from src and zero-fills the rest of the 4 bytes at dst. With 0,
// src is not read. `ca` caches in L1 and is the only form narrower than 16 bytes.
__device__ __forceinline__ void cp_async_ca_4(void* dst, const void* src, int src_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(dst))),
               "l"(src), "r"(src_bytes)
               : "memory");
}

// The same for 16 bytes; both addresses 16-byte aligned. `cg` goes through L2 only.
__device__ __forceinline__ void cp_async_cg_16(void* dst, const void* src, int src_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(dst))),
               "l"(src), "r"(src_bytes)
               : "memory");
}

// The same, all 16 bytes or, with `ignore`, 16 bytes of zeros. Unlike a count of bytes that the
// compiler does not know, the predicate costs no instructions.
__device__ __forceinline__ void cp_async_cg_16_ignore_src(void* dst, const void* src, bool ignore) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %2, 0;\n"
      "cp.async.cg.shared.global [%0], [%1], 16, p;\n"
      "}" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(dst))),
      "l"(src), "r"(static_cast<uint32_t>(ignore))
      : "memory");
}

// Closes the group of all copies this thread has started since the last one.
__device__ __forceinline__ void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most N of this thread's most recent groups are still in flight. Other threads'
// copies are visible only after a barrier that follows their own wait.
template <int N>
__device__ __forceinline__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

}  // namespace ladder::ptx
#endif
