#pragma once
// What GPUs tell each other through memory: words that one writes and another waits for, and what
// TMA has to do with them (sm_90). PTX ISA, "Memory Consistency Model", "ld", "st", "red",
// "fence.proxy.async", "cp.reduce.async.bulk.tensor".
#include <cuda.h>

#include <cstdint>
#include <cuda/ptx>

namespace ladder::ptx {

// Reads a word that another GPU, the copy engine or a stream writes. What its writer had written
// before, this thread sees afterwards.
__device__ __forceinline__ uint32_t load_acquire_system(const uint32_t* word) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

// Writes a word; who acquires it, on whatever GPU, sees all that this thread has written or seen.
__device__ __forceinline__ void store_release_system(uint32_t* word, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

// Adds to a word, and promises the same.
__device__ __forceinline__ void add_release_system(uint32_t* word, uint32_t value) {
  asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

// The same between the threads of a block, by a word in shared memory.
__device__ __forceinline__ uint32_t load_acquire_block(const uint32_t* word) {
  uint32_t value;
  asm volatile("ld.acquire.cta.shared.u32 %0, [%1];"
               : "=r"(value)
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(word)))
               : "memory");
  return value;
}
__device__ __forceinline__ void store_release_block(uint32_t* word, uint32_t value) {
  asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(word))),
               "r"(value)
               : "memory");
}

// Between ordinary accesses of this thread to memory, of any kind, and those that it orders of TMA
// afterwards. For the other way round, waiting for TMA is enough.
__device__ __forceinline__ void fence_proxy_async_all() {
  cuda::ptx::fence_proxy_async();
}

// Starts adding the box `from`, of halves, to what is at column `col` and row `row` of the map's
// matrix. Each element is one atomic addition, rounded to a half, where the matrix lies: that may
// be another GPU.
__device__ __forceinline__ void tma_reduce_add(const CUtensorMap* map, int col, int row,
                                               const void* from) {
  cuda::ptx::cp_reduce_async_bulk_tensor(cuda::ptx::space_global, cuda::ptx::space_shared,
                                         cuda::ptx::op_add, map, {col, row}, from);
}

// Waits until all that this thread's groups of stores write is written, not only read as with
// bulk_wait_group_read: this thread sees it, and may tell others.
__device__ __forceinline__ void bulk_wait_group_written() {
  cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>());
}

}  // namespace ladder::ptx
