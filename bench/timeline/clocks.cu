#include "clocks.h"
#include "timeline/recorded.cuh"

namespace timeline {
namespace {

constexpr int RECORDINGS = 1000;

__global__ void record_kernel() {
#pragma unroll 1
  for (int i = 0; i < RECORDINGS; ++i) record<Kind::COPY, 1>([] {});
}

// The smallest step above 0 between two readings that follow each other.
__global__ void timer_kernel(uint32_t* smallest) {
  uint32_t before, now, least = UINT32_MAX;
  asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(before));
#pragma unroll 1
  for (int i = 0; i < 1000000; ++i) {
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(now));
    if (now != before) least = min(least, now - before);
    before = now;
  }
  *smallest = least;
}

}  // namespace

Clocks measure_clocks(Event* events, CUstream_st* stream) {
  LADDER_CUDA_CHECK(cudaMemsetAsync(events, 0, EVENTS * sizeof(Event), stream));
  set_recorder({events, 1, 0, UINT32_MAX, 1});
  record_kernel<<<1, 32, 0, stream>>>();
  LADDER_CUDA_CHECK(cudaGetLastError());
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  Event first, last;
  LADDER_CUDA_CHECK(cudaMemcpy(&first, &events[100], sizeof first, cudaMemcpyDeviceToHost));
  LADDER_CUDA_CHECK(
      cudaMemcpy(&last, &events[RECORDINGS - 1], sizeof last, cudaMemcpyDeviceToHost));

  timer_kernel<<<1, 1, 0, stream>>>(&events->what);
  LADDER_CUDA_CHECK(cudaGetLastError());
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  uint32_t step;
  LADDER_CUDA_CHECK(cudaMemcpy(&step, &events->what, sizeof step, cudaMemcpyDeviceToHost));
  return {static_cast<double>(step),
          static_cast<double>(last.begin - first.begin) / (RECORDINGS - 1 - 100)};
}

}  // namespace timeline
