#pragma once
// CUDA's events, and a pair of them around a launch.
#include <functional>

#include "launch.cuh"

namespace ladder::harness {

// Enqueues one launch that works on buffer set number `set`.
using LaunchOn = std::function<void(int set)>;

class Event {
 public:
  Event() { LADDER_CUDA_CHECK(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream) { LADDER_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  double milliseconds_since(const Event& start) const {
    float ms = 0;
    LADDER_CUDA_CHECK(cudaEventElapsedTime(&ms, start.event_, event_));
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

struct EventPair {
  Event start, stop;
  void around(const LaunchOn& launch, int set, cudaStream_t stream) {
    start.record(stream);
    launch(set);
    stop.record(stream);
  }
  double milliseconds() const { return stop.milliseconds_since(start); }
};

}  // namespace ladder::harness
