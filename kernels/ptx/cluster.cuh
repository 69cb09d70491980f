#pragma once
// Clusters (sm_90): the barrier of all threads of a cluster, and mbarriers in the shared memory of
// another block of it. PTX ISA, "barrier.cluster", "mapa" and "mbarrier.arrive".
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

}  // namespace ladder::ptx
#endif
