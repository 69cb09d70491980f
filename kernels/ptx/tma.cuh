#pragma once
// TMA (sm_90): one thread orders the copy of a whole box of a matrix and no thread carries it out.
// An mbarrier counts the bytes of a load as they land; stores are waited for in groups. PTX ISA,
// "Data Movement and Conversion Instructions: cp.async.bulk.tensor", "mbarrier". tensor_map.cuh
// says what a box looks like in shared memory, mbarrier.cuh has the other half of the barriers.
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cuda.h>

  #include <cstdint>
  #include <cuda/ptx>

  #include "mbarrier.cuh"

namespace ladder::ptx {

// TMA, and other blocks of the cluster, see the barriers that this thread has initialised.
__device__ __forceinline__ void fence_mbarrier_init() {
  cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
}

// Begins to fetch the map, which TMA has to read before the first box: some hundred nanoseconds
// that need not come after everything else.
__device__ __forceinline__ void prefetch_tensor_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Arrives; the phase is not complete before `bytes` more have landed either.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t* barrier, uint32_t bytes) {
  cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta,
                                       cuda::ptx::space_shared, barrier, bytes);
}

// Whether the phase of this parity (0 for the first, then 1, 0, ...) is complete. The phase before
// the first, of parity 1, counts as complete. Sleeps for a while before it says no.
__device__ __forceinline__ bool mbarrier_try_wait_parity(uint64_t* barrier, uint32_t parity) {
  return cuda::ptx::mbarrier_try_wait_parity(barrier, parity);
}

// Waits until it is.
__device__ __forceinline__ void mbarrier_wait_parity(uint64_t* barrier, uint32_t parity) {
  while (!mbarrier_try_wait_parity(barrier, parity)) {
  }
}

// Starts the copy of the box at column `col` and row `row` of the map's matrix to `to` in shared
// memory. Its bytes, with the zeros for what is outside the matrix, count at the barrier.
__device__ __forceinline__ void tma_load(void* to, const CUtensorMap* map, int col, int row,
                                         uint64_t* barrier) {
  cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, to, map,
                                  {col, row}, barrier);
}

// The same where the map has several matrices: of number `matrix`.
__device__ __forceinline__ void tma_load(void* to, const CUtensorMap* map, int col, int row,
                                         int matrix, uint64_t* barrier) {
  cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, to, map,
                                  {col, row, matrix}, barrier);
}

// Starts the copy of `bytes` that lie in a row, a multiple of 16 as both addresses are. They count
// at the barrier. There is no map that has to be fetched before.
__device__ __forceinline__ void bulk_load(void* to, const void* from, uint32_t bytes,
                                          uint64_t* barrier) {
  cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, to, from, bytes,
                           barrier);
}

// The same as the first to the same place in each block of the cluster whose rank's bit is set in
// `blocks`. The bytes count at the barrier that each of them has in the place of `barrier`.
__device__ __forceinline__ void tma_load_multicast(void* to, const CUtensorMap* map, int col,
                                                   int row, uint64_t* barrier, uint16_t blocks) {
  cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, to, map,
                                  {col, row}, barrier, blocks);
}

// Starts the copy of the box `from` to column `col` and row `row` of the map's matrix.
__device__ __forceinline__ void tma_store(const CUtensorMap* map, int col, int row,
                                          const void* from) {
  cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_global, cuda::ptx::space_shared, map, {col, row},
                                  from);
}

// TMA sees what this thread has written to shared memory by ordinary stores. Comes between the
// writing and whatever tells the thread that orders the copy.
__device__ __forceinline__ void fence_proxy_async() {
  cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
}

// Closes the group of all stores this thread has started since the last one.
__device__ __forceinline__ void bulk_commit_group() {
  cuda::ptx::cp_async_bulk_commit_group();
}

// Waits until at most N of this thread's most recent groups have not yet read their shared memory,
// which may be written again then. What they write may still be on its way.
template <int N>
__device__ __forceinline__ void bulk_wait_group_read() {
  cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<N>());
}

}  // namespace ladder::ptx
#endif
