#pragma once
// Barriers in the shared memory of another block of the cluster (sm_90). PTX ISA, "mapa" and
// "mbarrier.arrive".
#include <cstdint>

namespace ladder::ptx {

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
