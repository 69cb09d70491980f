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

#include "cpu_device/block.h"
#include "cpu_device/memory.h"
#include "cpu_device/trace.h"

#define LADDER_CPU_DEVICE 1

// --- Keywords ---------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __cluster_dims__(...)  // a launch says it, too
#define __align__(n)           __attribute__((aligned(n)))
// One copy for each OS thread, that is for each block that is running. 128 bytes: all banks once,
// so that an array begins in bank 0 as it does on the GPU.
#define __shared__ static thread_local __attribute__((aligned(128)))

// --- Vector types -----------------------------------------------------------------------------

// Copied as a whole, so that the compiler sees one access of 16 bytes as a GPU does, not four of 4.
template <class T>
struct alignas(16) Vector4 {
  typedef T Whole __attribute__((vector_size(16)));
  union {
    struct {
      T x, y, z, w;
    };
    Whole whole;
  };
  Vector4() = default;
  Vector4(T x0, T y0, T z0, T w0) : x(x0), y(y0), z(z0), w(w0) {}
  Vector4(const Vector4& other) : whole(other.whole) {}
  Vector4& operator=(const Vector4& other) {
    whole = other.whole;
    return *this;
  }
};
template <class T>
struct alignas(8) Vector2 {
  typedef T Whole __attribute__((vector_size(8)));
  union {
    struct {
      T x, y;
    };
    Whole whole;
  };
  Vector2() = default;
  Vector2(T x0, T y0) : x(x0), y(y0) {}
  Vector2(const Vector2& other) : whole(other.whole) {}
  Vector2& operator=(const Vector2& other) {
    whole = other.whole;
    return *this;
  }
};
using float2 = Vector2<float>;
using int2 = Vector2<int>;
inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline int2 make_int2(int x, int y) {
  return {x, y};
}
using float4 = Vector4<float>;
using uint4 = Vector4<unsigned>;
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x0 = 1, unsigned y0 = 1, unsigned z0 = 1) : x(x0), y(y0), z(z0) {}
};

// --- In a kernel ------------------------------------------------------------------------------

#define threadIdx (cpu_device::this_block->current().index)
#define blockIdx  (cpu_device::this_block->block_index)
#define blockDim  (cpu_device::this_block->size)
#define gridDim   (cpu_device::this_block->grid)

using std::max;
using std::min;

// The default argument is the caller's place.
inline void __syncthreads(cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->barrier(place);
}
inline void __syncwarp(cpu_device::Place place = cpu_device::here()) {
  cpu_device::this_block->warp_barrier(place);
}
template <class T>
inline T __shfl_sync(uint32_t, T value, int from, cpu_device::Place place = cpu_device::here()) {
  T all[cpu_device::WARP];
  struct Lane {
    T value;
    T* all;
  } lane{value, all};
  cpu_device::this_block->warp_collective(
      &lane,
      [](void** lanes, uint32_t mask) {
        for (unsigned to = 0; to < cpu_device::WARP; ++to)
          for (unsigned l = 0; l < cpu_device::WARP; ++l)
            if ((mask >> to & 1) && (mask >> l & 1))
              static_cast<Lane*>(lanes[to])->all[l] = static_cast<Lane*>(lanes[l])->value;
      },
      place);
  return all[static_cast<unsigned>(from) % cpu_device::WARP];
}

// From the lane `delta` above, below, or whose number differs in the bits of `bits`; the lane's own
// where there is none. Warps as a whole: there is no width.
template <class T>
inline T __shfl_down_sync(uint32_t all, T value, unsigned delta,
                          cpu_device::Place place = cpu_device::here()) {
  const unsigned lane = cpu_device::this_block->lane(), from = lane + delta;
  return __shfl_sync(all, value, static_cast<int>(from < cpu_device::WARP ? from : lane), place);
}
template <class T>
inline T __shfl_up_sync(uint32_t all, T value, unsigned delta,
                        cpu_device::Place place = cpu_device::here()) {
  const unsigned lane = cpu_device::this_block->lane();
  return __shfl_sync(all, value, static_cast<int>(lane >= delta ? lane - delta : lane), place);
}
template <class T>
inline T __shfl_xor_sync(uint32_t all, T value, int bits,
                         cpu_device::Place place = cpu_device::here()) {
  return __shfl_sync(all, value, static_cast<int>(cpu_device::this_block->lane()) ^ bits, place);
}
inline uint32_t __ballot_sync(uint32_t, int predicate,
                              cpu_device::Place place = cpu_device::here()) {
  struct Lane {
    bool vote;
    uint32_t votes;
  } lane{predicate != 0, 0};
  cpu_device::this_block->warp_collective(
      &lane,
      [](void** lanes, uint32_t mask) {
        uint32_t votes = 0;
        for (unsigned l = 0; l < cpu_device::WARP; ++l)
          if (mask >> l & 1) votes |= uint32_t{static_cast<Lane*>(lanes[l])->vote} << l;
        for (unsigned l = 0; l < cpu_device::WARP; ++l)
          if (mask >> l & 1) static_cast<Lane*>(lanes[l])->votes = votes;
      },
      place);
  return lane.votes;
}
inline int __popc(uint32_t x) {
  return __builtin_popcount(x);
}
inline float __fadd_rn(float a, float b) {  // never with a multiplication
  return a + b;
}
inline float __expf(float x) {
  return std::exp(x);
}
inline uint32_t __float_as_uint(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float __uint_as_float(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Returns what was there. In global memory a store of its warp's request; in shared memory it is
// not counted, and not looked at for races: atomics do not race with each other.
template <class T, class Add>
LADDER_UNTRACED inline T atomicAdd(T* to, Add value, cpu_device::Place place = cpu_device::here()) {
  if (cpu_device::find_allocation(reinterpret_cast<uintptr_t>(to)) != nullptr)
    cpu_device::trace_access(place, to, sizeof(T), cpu_device::Operation::STORE);
  T old, sum;
  __atomic_load(to, &old, __ATOMIC_RELAXED);
  do sum = old + static_cast<T>(value);
  while (!__atomic_compare_exchange(to, &old, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
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
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin };
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount
               ? cpu_device::settings().multiprocessors
               : static_cast<int>(cpu_device::MAX_SHARED_BYTES);
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
