#pragma once
// Clusters (sm_90): the barrier of all threads of a cluster, and the shared memory of another block
// of it, with the mbarriers there. PTX ISA, "barrier.cluster", "mapa", "mbarrier.arrive" and
// "st.async".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
  #include <cstdint>
  #include <cuda/ptx>

namespace ladder::ptx {

// Half of a barrier of the cluster's threads, all of which arrive and do not wait. Orders what they
// wrote before what is read after the other half.
__device__ __forceinline__ void cluster_arrive() {
  cuda::ptx::barrier_cluster_arrive();
}

// The first half, which orders nothing but the initialisation of mbarriers, if fence_mbarrier_init
// came before it: enough for threads that have written nothing else that others will read.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// The other half: waits until all of them have arrived.
__device__ __forceinline__ void cluster_wait() {
  cuda::ptx::barrier_cluster_wait();
}

// Both.
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// Where block `rank` of the cluster has in its shared memory what this block has at `pointer`: for
// ordinary loads and stores.
template <class T>
__device__ __forceinline__ T* shared_of_block(T* pointer, uint32_t rank) {
  uint64_t there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(pointer), "r"(rank));
  return reinterpret_cast<T*>(there);
}

// Arrives at the barrier that block `rank` of the cluster has where this block has `barrier`, which
// may be this block's own. Orders no accesses of this thread to memory that the other block sees:
// that would be `.release.cluster`, a fence, with which a persistent 10b takes 1.4 times as long
// (8192^3, H200).
__device__ __forceinline__ void mbarrier_arrive_cluster(uint64_t* barrier, uint32_t rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(barrier))),
      "r"(rank)
      : "memory");
}

// The address in the cluster's window of shared memory, of which every block has a part, of what
// block `rank` has where this block has `pointer`.
__device__ __forceinline__ uint32_t address_in_block(const void* pointer, uint32_t rank) {
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(there)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(pointer))), "r"(rank));
  return there;
}

// Starts the store of `value` to where block `rank` of the cluster, perhaps this one, has what this
// block has at `to`, and does not wait for it. When it is there, its 16 bytes count at the barrier
// that the other block has where this block has `barrier`.
__device__ __forceinline__ void store_async(float4* to, float4 value, uint64_t* barrier,
                                            uint32_t rank) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(address_in_block(to, rank)),
      "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(address_in_block(barrier, rank))
      : "memory");
}

// Waits until the phase of this parity of this block's own barrier is complete, and sees what other
// blocks have stored by then.
__device__ __forceinline__ void mbarrier_wait_parity_cluster(uint64_t* barrier, uint32_t parity) {
  while (!cuda::ptx::mbarrier_try_wait_parity(cuda::ptx::sem_acquire, cuda::ptx::scope_cluster,
                                              barrier, parity)) {
  }
}

}  // namespace ladder::ptx
#endif
