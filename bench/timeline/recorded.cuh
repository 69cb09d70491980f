#pragma once
// Included before a kernel's header, makes it record what its warps wait for. The kernel does not
// know: the functions of ptx/ that wait, and __syncthreads, become macros that lead to the
// functions here, which call the real ones. What ladder is becomes ladder_recorded, so that a
// program can have the kernel as it is, too.
//
// A recording is cheap where it matters. A block of another multiprocessor pays for one comparison.
// In a recorded one, all lanes read two clocks and the warp's counter, and lane 0 writes the event,
// 16 bytes, and the counter; nothing waits for what is written.
#define ladder ladder_recorded

#include <mma.h>

#include <algorithm>

#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_fragments.cuh"
#include "parts/store_halves.cuh"
#include "parts/store_through_shared.cuh"
#include "ptx/cluster.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/mma.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"
#include "timeline/event.h"

namespace timeline {
namespace {

__constant__ Recorder recorder;

inline void set_recorder(const Recorder& r) {
  LADDER_CUDA_CHECK(cudaMemcpyToSymbol(recorder, &r, sizeof r));
}

// Not volatile: the compiler may ask once a kernel.
__device__ __forceinline__ bool recorded_here() {
  unsigned sm;
  asm("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm - recorder.first_sm < recorder.sms;
}

__device__ __forceinline__ uint32_t clock_now() {
  uint32_t now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}

// The clock once `loaded` has come from shared memory. A barrier and a wait for wgmma hold a warp
// up a few clocks late: the instruction right behind them, were it the reading, still passes. A
// load that is issued behind them takes longer to come than that, and its first use waits for both.
__device__ __forceinline__ uint32_t clock_behind(uint32_t loaded) {
  uint32_t now;
  asm volatile(
      "{\n.reg .pred never;\n"
      "setp.eq.u32 never, %1, 0xffffffff;\n"
      "@never nanosleep.u32 0;\n"
      "mov.u32 %0, %%clock;\n}"
      : "=r"(now)
      : "r"(loaded)
      : "memory");
  return now;
}

// Events of a warp so far. Nobody initialises it: it counts if the tag is that of this block in
// this launch.
struct __align__(8) Counter {
  uint32_t tag, events;
};
__device__ __forceinline__ volatile Counter& counter() {
  __shared__ Counter counters[32];
  return counters[threadIdx.x / 32];
}

// The number of the block in its grid.
__device__ __forceinline__ uint32_t block_number() {
  return blockIdx.y * gridDim.x + blockIdx.x;
}

// Calls `wait`, which lane 0 is always among the callers of, between two readings of the clock.
template <Kind KIND, int LINE, class Wait>
__device__ __forceinline__ void record(Wait wait) {
  if (!recorded_here()) return wait();
  const uint32_t tag = recorder.launch + block_number();
  const uint32_t so_far = counter().events;
  const uint32_t begin = clock_now();
  wait();
  const uint32_t counted = counter().tag;
  const uint32_t end = clock_behind(counted);
  const uint32_t number = counted == tag ? so_far : 0;
  if (threadIdx.x % 32 == 0 && number < EVENTS && block_number() < recorder.blocks) {
    uint32_t timer;
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(timer));
    const uint32_t warp = block_number() * WARPS_A_BLOCK + threadIdx.x / 32;
    const uint32_t what = static_cast<uint32_t>(KIND) << 16 | LINE;
    reinterpret_cast<uint4*>(recorder.events)[uint64_t{warp} * EVENTS + number] =
        make_uint4(what, begin, end, timer);
    counter().tag = tag;
    counter().events = number + 1;
  }
}

template <int LINE>
__device__ __forceinline__ void sync_threads() {
  record<Kind::BARRIER, LINE>([] { __syncthreads(); });
}

}  // namespace
}  // namespace timeline

namespace ladder::ptx {

// ptx::NAME(...) in line LINE of a kernel's header becomes ptx::at<LINE>::NAME(...).
template <int LINE>
struct at {
  template <timeline::Kind KIND, class Wait>
  static __device__ __forceinline__ void record(Wait wait) {
    timeline::record<KIND, LINE>(wait);
  }
  using Kind = timeline::Kind;

  template <int N>
  static __device__ __forceinline__ void cp_async_wait_group() {
    record<Kind::CP_ASYNC>([] { ptx::cp_async_wait_group<N>(); });
  }
  // What calls it repeats it until it is true, so this waits, and that is one event.
  static __device__ __forceinline__ bool mbarrier_test_wait_parity(uint64_t* b, uint32_t parity) {
    record<Kind::SPLIT_BARRIER>([=] {
      while (!ptx::mbarrier_test_wait_parity(b, parity)) {
      }
    });
    return true;
  }
  static __device__ __forceinline__ void mbarrier_wait_parity(uint64_t* b, uint32_t parity) {
    record<Kind::MBARRIER>([=] { ptx::mbarrier_wait_parity(b, parity); });
  }
  static __device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t* b, uint32_t bytes) {
    record<Kind::COPY>([] {});
    ptx::mbarrier_arrive_expect_tx(b, bytes);
  }
  static __device__ __forceinline__ void cluster_sync() {
    record<Kind::CLUSTER>([] { ptx::cluster_sync(); });
  }
  template <int N>
  static __device__ __forceinline__ void wgmma_wait_group() {
    record<N == 0 ? Kind::WGMMA_ALL : Kind::WGMMA>([] { ptx::wgmma_wait_group<N>(); });
  }
  template <int N>
  static __device__ __forceinline__ void bulk_wait_group_read() {
    record<Kind::BULK_READ>([] { ptx::bulk_wait_group_read<N>(); });
  }
  static __device__ __forceinline__ void tma_store(const CUtensorMap* map, int col, int row,
                                                   const void* from) {
    record<Kind::BULK_STORE>([] {});
    ptx::tma_store(map, col, row, from);
  }
};

}  // namespace ladder::ptx

#define __syncthreads()           timeline::sync_threads<__LINE__>()
#define cp_async_wait_group       at<__LINE__>::template cp_async_wait_group
#define mbarrier_test_wait_parity at<__LINE__>::mbarrier_test_wait_parity
#define mbarrier_wait_parity      at<__LINE__>::mbarrier_wait_parity
#define mbarrier_arrive_expect_tx at<__LINE__>::mbarrier_arrive_expect_tx
#define cluster_sync              at<__LINE__>::cluster_sync
#define wgmma_wait_group          at<__LINE__>::template wgmma_wait_group
#define bulk_wait_group_read      at<__LINE__>::template bulk_wait_group_read
#define tma_store                 at<__LINE__>::tma_store
