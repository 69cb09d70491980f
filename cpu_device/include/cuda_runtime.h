#pragma once
// The CPU device's stand-in for CUDA's header: the language extensions that kernels use, and the
// part of the runtime that launchers and tests use. Found instead of CUDA's where the CPU is the
// device.
#include <cassert>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "cpu_device/accesses.h"
#include "cpu_device/arithmetic.h"
#include "cpu_device/block.h"
#include "cpu_device/memory.h"
#include "cpu_device/trace.h"
#include "cpu_device/warp.h"
#include "vector_types.h"

#define LADDER_CPU_DEVICE 1

// --- Keywords ---------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __constant__  // which cudaMemcpyToSymbol writes
#define __managed__
#define __noinline__  // empty: the standard library has the name in attributes
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __grid_constant__
#define __cluster_dims__(...)  // a launch says it, too
#define __align__(n)           __attribute__((aligned(n)))
// One copy for each OS thread, that is for each block that is running. 128 bytes: all banks once,
// so that an array begins in bank 0 as it does on the GPU.
#ifdef __wasm__  // clang would know that nobody has written an array, and leave out what reads it
  #define __shared__ static thread_local __attribute__((aligned(128), used))
#else
  #define __shared__ static thread_local __attribute__((aligned(128)))
#endif

// --- In a kernel ------------------------------------------------------------------------------

#define threadIdx (cpu_device::this_block->current().index)
#define blockIdx  (cpu_device::this_block->block_index)
#define blockDim  (cpu_device::this_block->size)
#define gridDim   (cpu_device::this_block->grid)

inline uint32_t __cvta_generic_to_shared(const void* pointer) {
  return cpu_device::this_block->shared_address(pointer);
}
inline long long clock64() {  // of no GPU
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
inline void __nanosleep(unsigned) {}  // the other threads run when this one waits
[[noreturn]] inline void __trap() {
  __builtin_trap();
}

namespace cpu_device {
template <class T>
T& dynamic_shared() {
  return *reinterpret_cast<T*>(this_block->dynamic_shared());
}

// Runs the kernel to its end. Each thread gets its own copy of the parameters.
template <class... Params>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, unsigned cluster, size_t smem_bytes,
            Params... args) {
  const std::function<void()> body = [&] { kernel(args...); };
  run_grid({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, cluster, smem_bytes, body);
}
}  // namespace cpu_device

// --- The runtime ------------------------------------------------------------------------------

enum cudaError_t { cudaSuccess = 0 };
#include "driver_entry_point.h"  // whose functions return one
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
typedef struct CUstream_st* cudaStream_t;  // everything has happened when a call returns

inline const char* cudaGetErrorString(cudaError_t) {
  return "no error";
}
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  *pointer = static_cast<T*>(cpu_device::allocate(bytes));
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* pointer) {
  cpu_device::deallocate(pointer);
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrL2CacheSize
};
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  constexpr int L2_BYTES = 64 * 1024;  // so few that small problems do not fit
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = cpu_device::settings().multiprocessors;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(cpu_device::MAX_SHARED_BYTES);
      break;
    case cudaDevAttrL2CacheSize:
      *value = L2_BYTES;
      break;
  }
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
struct cudaDeviceProp {
  char name[256];
};
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {"the CPU device"};
  return cudaSuccess;
}
typedef struct CUmemPoolHandle_st* cudaMemPool_t;
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold };
inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  return cudaFree(pointer);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpy(reinterpret_cast<char*>(&symbol) + offset, from, bytes, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cudaMemcpy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes, kind);
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  if (bytes > 0) std::memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                     cudaStream_t) {
  for (size_t row = 0; row < height; ++row)
    std::memset(static_cast<char*>(to) + row * pitch, value, width);
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
