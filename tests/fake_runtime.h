#pragma once
// What bench/peers takes of CUDA's runtime and the CPU device has not: events, which read the clock
// of the host, and a stream that has always done everything. Included before everything else.
#include <cuda_runtime.h>

#include <chrono>

// What a test adds to the host's clock in the place of a launch that takes so long.
inline std::chrono::nanoseconds fake_time{0};

struct FakeEvent {
  std::chrono::steady_clock::time_point time;
};
using cudaEvent_t = FakeEvent*;
using cudaHostFn_t = void (*)(void*);
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr cudaMemcpyKind cudaMemcpyDeviceToDevice = cudaMemcpyDeviceToHost;

inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new FakeEvent;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->time = std::chrono::steady_clock::now() + fake_time;
  return cudaSuccess;
}
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  *ms = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}
// What holds the stream would hold the host, which is the same here.
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void*) {
  return cudaSuccess;
}
inline cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
