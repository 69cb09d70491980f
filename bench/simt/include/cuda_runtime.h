#pragma once
// The CPU device's stand-in for CUDA's header: the language extensions that kernels use, and the
// part of the runtime that launchers and tests use. Found instead of CUDA's where the CPU is the
// device.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "simt/block.h"
#include "simt/memory.h"
#include "simt/trace.h"

#define SIMT_CPU_DEVICE 1

// --- Keywords ---------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// One copy for each OS thread, that is for each block that is running. 128 bytes: all banks once,
// so that an array begins in bank 0 as it does on the GPU.
#define __shared__ static thread_local __attribute__((aligned(128)))

// --- Vector types -----------------------------------------------------------------------------

// Copied as a whole, so that the compiler sees one access of 16 bytes as a GPU does, not four of 4.
template <class T>
struct alignas(16) SimtVector4 {
  typedef T Whole __attribute__((vector_size(16)));
  union {
    struct {
      T x, y, z, w;
    };
    Whole whole;
  };
  SimtVector4() = default;
  SimtVector4(T x0, T y0, T z0, T w0) : x(x0), y(y0), z(z0), w(w0) {}
  SimtVector4(const SimtVector4& other) : whole(other.whole) {}
  SimtVector4& operator=(const SimtVector4& other) {
    whole = other.whole;
    return *this;
  }
};
using float4 = SimtVector4<float>;
using uint4 = SimtVector4<unsigned>;
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x0 = 1, unsigned y0 = 1, unsigned z0 = 1) : x(x0), y(y0), z(z0) {}
};

// --- In a kernel ------------------------------------------------------------------------------

#define threadIdx (simt::this_block->current().index)
#define blockIdx  (simt::this_block->block_index)
#define blockDim  (simt::this_block->size)
#define gridDim   (simt::this_block->grid)

using std::max;
using std::min;

// The default argument is the caller's place.
inline void __syncthreads(simt::Place place = simt::here()) {
  simt::this_block->barrier(place);
}
inline void __syncwarp(simt::Place place = simt::here()) {
  simt::this_block->warp_collective(
      nullptr, [](void**, uint32_t) { ++simt::this_block->warp().barriers; }, place);
}
template <class T>
inline T __shfl_sync(uint32_t, T value, int from, simt::Place place = simt::here()) {
  T all[simt::WARP];
  struct Lane {
    T value;
    T* all;
  } lane{value, all};
  simt::this_block->warp_collective(
      &lane,
      [](void** lanes, uint32_t mask) {
        for (unsigned to = 0; to < simt::WARP; ++to)
          for (unsigned l = 0; l < simt::WARP; ++l)
            if ((mask >> to & 1) && (mask >> l & 1))
              static_cast<Lane*>(lanes[to])->all[l] = static_cast<Lane*>(lanes[l])->value;
      },
      place);
  return all[static_cast<unsigned>(from) % simt::WARP];
}

namespace simt {
template <class T>
T& dynamic_shared() {
  return *reinterpret_cast<T*>(this_block->dynamic_shared());
}

// Runs the kernel to its end. Each thread gets its own copy of the parameters.
template <class... Params>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t smem_bytes, Params... args) {
  const std::function<void()> body = [&] { kernel(args...); };
  run_grid({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, smem_bytes, body);
}
}  // namespace simt

// --- The runtime ------------------------------------------------------------------------------

enum cudaError_t { cudaSuccess = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
typedef struct SimtStream* cudaStream_t;  // everything has happened when a call returns

inline const char* cudaGetErrorString(cudaError_t) {
  return "no error";
}
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  *pointer = static_cast<T*>(simt::allocate(bytes));
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* pointer) {
  simt::deallocate(pointer);
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin };
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? simt::settings().multiprocessors
                                                       : static_cast<int>(simt::MAX_SHARED_BYTES);
  return cudaSuccess;
}
typedef struct SimtPool* cudaMemPool_t;
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
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  if (bytes > 0) std::memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
